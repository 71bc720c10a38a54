-- Bills of material: explosion by recursion, cycles, net requirements by levels, costs that roll up.

create table part (part char(8) primary key, descr varchar(20), made char(1), price decimal(10,4), lot integer,
                   on_hand integer, lead smallint, low_level smallint, cost decimal(12,4));
create table bom (parent char(8), child char(8), qty decimal(8,3), scrap decimal(4,1), primary key (parent, child));
create table planned (part char(8), day date, qty integer, kind char(1));
insert into part values ('BIKE', 'Bicycle', 'Y', 40, 1, 2, 2, null, null);
insert into part values ('FRAME', 'Frame', 'Y', 25, 10, 5, 5, null, null);
insert into part values ('WHEEL', 'Wheel', 'Y', 4, 1, 0, 1, null, null);
insert into part values ('TUBE', 'Steel tube', 'N', 3.5, 100, 0, 10, null, null);
insert into part values ('SPOKE', 'Spoke', 'N', 0.125, 500, 100, 3, null, null);
insert into part values ('RIM', 'Rim', 'N', 9.99, 20, 7, 4, null, null);
insert into part values ('BELL', 'Bell', 'N', 2, 1, 0, 1, null, null);
insert into bom values ('BIKE', 'FRAME', 1, 0);
insert into bom values ('BIKE', 'WHEEL', 2, 0);
insert into bom values ('BIKE', 'SPOKE', 1, 0);
insert into bom values ('FRAME', 'TUBE', 2.5, 20);
insert into bom values ('WHEEL', 'RIM', 1, 0);
insert into bom values ('WHEEL', 'SPOKE', 36, 10);

create procedure explode (p_part char(8), p_qty decimal(12,3) default 1, p_level smallint default 0,
                          p_path lvarchar(400) default '/')
   returning smallint, char(8), decimal(12,3), lvarchar(400);
   -- the part itself, then its children, theirs, and so on: depth first
   define c char(8);
   define q, v_qty decimal(12,3);
   define s decimal(4,1);
   define v_level smallint;
   define v_part char(8);
   define v_path, v_sub lvarchar(400);

   if p_path like '%/' || trim(p_part) || '/%' then
      raise exception -746, p_level, p_path || trim(p_part) || ' is a cycle';
   end if
   return p_level, p_part, p_qty, p_path with resume;

   let v_path = p_path || trim(p_part) || '/';
   foreach select child, qty, scrap into c, q, s from bom where parent = p_part order by child
      let v_qty = round(p_qty * q * (100 + s) / 100, 3);
      foreach execute procedure explode(c, v_qty, p_level + 1, v_path)
         into v_level, v_part, v_qty, v_sub
         return v_level, v_part, v_qty, v_sub with resume;
      end foreach
   end foreach
end procedure;

CREATE PROCEDURE set_levels ( ) RETURNING SMALLINT ;
   -- The low-level code: the longest way from a part without parents. Ends with -746 if there is no end.
   DEFINE  v_level , v_n  SMALLINT ;

   UPDATE part SET low_level = 0 ;
   LET v_level = 0 ;
   WHILE v_level < 50
      UPDATE part
         SET low_level = v_level + 1
       WHERE part IN ( SELECT b.child FROM bom b , part p
                        WHERE p.part = b.parent AND p.low_level = v_level ) ;
      LET v_n = DBINFO ( 'sqlca.sqlerrd2' ) ;
      IF v_n = 0 THEN
         RETURN v_level ;
      END IF ;
      LET v_level = v_level + 1 ;
   END WHILE ;
   RAISE EXCEPTION -746 , 0 , 'the bills of material have a cycle' ;
END PROCEDURE ;

CREATE PROCEDURE plan_and_cost ( p_part CHAR(8) , p_qty INTEGER , p_day DATE )
   RETURNING CHAR(8) AS part , INTEGER AS gross , INTEGER AS planned , DATE AS start , DECIMAL(12,4) AS unit_cost ;
   {
      1. requirements, level by level from the top: what is on hand is used, the rest is made or bought in lots,
         and is needed a lead time before
      2. costs, level by level from the bottom
      3. a row for each part that is needed
   }
   DEFINE v_max , v_level             SMALLINT ;
   DEFINE v_part , v_child            CHAR(8) ;
   DEFINE v_gross , v_net , v_lot     INTEGER ;
   DEFINE v_hand , v_lead             INTEGER ;
   DEFINE v_day , v_start             DATE ;
   DEFINE v_q                         DECIMAL(12,3) ;
   DEFINE v_cost , v_price , v_sum    DECIMAL(12,4) ;
   DEFINE v_made                      CHAR(1) ;

   LET v_max = set_levels ( ) ;
   DELETE FROM planned ;
   DROP TABLE IF EXISTS t_need ;
   CREATE TEMP TABLE t_need ( part CHAR(8) , qty DECIMAL(12,3) , day DATE ) WITH NO LOG ;
   INSERT INTO t_need VALUES ( p_part , p_qty , p_day ) ;

   FOR v_level = 0 TO v_max
      FOREACH
         SELECT p.part , CEIL ( SUM ( t.qty ) ) , MIN ( t.day ) , p.lot , p.on_hand , p.lead
           INTO v_part , v_gross , v_day , v_lot , v_hand , v_lead
           FROM part p , t_need t
          WHERE t.part = p.part AND p.low_level = v_level
          GROUP BY p.part , p.lot , p.on_hand , p.lead
          ORDER BY p.part

         LET v_net = v_gross - v_hand ;
         IF v_net <= 0 THEN
            INSERT INTO planned VALUES ( v_part , v_day , 0 , 'S' ) ;     -- from stock
            CONTINUE FOREACH ;
         END IF ;
         IF MOD ( v_net , v_lot ) > 0 THEN
            LET v_net = v_net + v_lot - MOD ( v_net , v_lot ) ;
         END IF ;
         LET v_start = v_day - v_lead UNITS DAY ;
         INSERT INTO planned VALUES ( v_part , v_start , v_net , 'P' ) ;
         INSERT INTO t_need
            SELECT child , v_net * qty * ( 100 + scrap ) / 100 , v_start FROM bom WHERE parent = v_part ;
      END FOREACH ;
   END FOR ;

   UPDATE part SET cost = NULL ;
   FOR v_level = v_max TO 0 STEP -1
      FOREACH c_cost FOR
         SELECT part , made , price INTO v_part , v_made , v_price FROM part WHERE low_level = v_level
         LET v_sum = v_price ;                            -- the labour of what is made
         IF v_made = 'Y' THEN
            FOREACH
               SELECT b.child , b.qty * ( 100 + b.scrap ) / 100 , c.cost INTO v_child , v_q , v_cost
                 FROM bom b , part c WHERE b.parent = v_part AND c.part = b.child
               IF v_cost IS NULL THEN
                  RAISE EXCEPTION -746 , 0 , 'no cost of ' || v_child ;
               END IF ;
               LET v_sum = v_sum + v_q * v_cost ;
            END FOREACH ;
         END IF ;
         UPDATE part SET cost = v_sum WHERE CURRENT OF c_cost ;
      END FOREACH ;
   END FOR ;

   FOREACH
      SELECT p.part , CEIL ( SUM ( t.qty ) ) , n.qty , n.day , p.cost
        INTO v_part , v_gross , v_net , v_start , v_cost
        FROM part p , t_need t , planned n
       WHERE t.part = p.part AND n.part = p.part
       GROUP BY p.part , n.qty , n.day , p.cost , p.low_level
       ORDER BY p.low_level , p.part
      RETURN v_part , v_gross , v_net , v_start , v_cost WITH RESUME ;
   END FOREACH ;
   DROP TABLE t_need ;
END PROCEDURE ;

-- TUBE: 2.5 with 20 per cent is 3.000; SPOKE: 36 * 1.1 = 39.600, for two wheels 79.200
execute procedure explode('BIKE');
--> 0|BIKE    |1.000|/|
--> 1|FRAME   |1.000|/BIKE/|
--> 2|TUBE    |3.000|/BIKE/FRAME/|
--> 1|SPOKE   |1.000|/BIKE/|
--> 1|WHEEL   |2.000|/BIKE/|
--> 2|RIM     |2.000|/BIKE/WHEEL/|
--> 2|SPOKE   |79.200|/BIKE/WHEEL/|
execute procedure explode('WHEEL', 10);
--> 0|WHEEL   |10.000|/|
--> 1|RIM     |10.000|/WHEEL/|
--> 1|SPOKE   |396.000|/WHEEL/|
execute procedure set_levels();
--> 2|
select part, low_level from part order by low_level, part;
--> BELL    |0|
--> BIKE    |0|
--> FRAME   |1|
--> WHEEL   |1|
--> RIM     |2|
--> SPOKE   |2|
--> TUBE    |2|
-- 12 bikes on 30 June: 10 are made, begun on 28 June; 10 frames - 5 = 5, a lot of 10, on the 23rd;
-- 20 wheels on the 27th; 30 tubes, a lot of 100, on the 13th; 20 rims - 7 = 13, a lot of 20, on the 23rd;
-- spokes: 10 for bikes, 20 * 39.6 = 792 for wheels, 802 - 100 = 702, lots of 500: 1000, needed on the 27th
-- WHEEL: 4 + 9.99 + 39.6 * 0.125 = 18.94; FRAME: 25 + 3 * 3.5 = 35.50; BIKE: 40 + 35.50 + 37.88 + 0.125
execute procedure plan_and_cost('BIKE', 12, mdy(6, 30, 2026));
--> BIKE    |12|10|2026-06-28|113.5050|
--> FRAME   |10|10|2026-06-23|35.5000|
--> WHEEL   |20|20|2026-06-27|18.9400|
--> RIM     |20|20|2026-06-23|9.9900|
--> SPOKE   |802|1000|2026-06-24|0.1250|
--> TUBE    |30|100|2026-06-13|3.5000|
-- 2 are on hand
execute procedure plan_and_cost('BIKE', 2, mdy(6, 30, 2026));
--> BIKE    |2|0|2026-06-30|113.5050|
-- the rows as a table: 2 + 2 * 79.2 spokes; the wheel has two children
create temp table t_exp (lvl smallint, part char(8), qty decimal(12,3), path lvarchar(400));
insert into t_exp execute procedure explode('BIKE', 2);
select part, sum(qty)::decimal(12,3) from t_exp group by part order by part;
--> BIKE    |2.000|
--> FRAME   |2.000|
--> RIM     |4.000|
--> SPOKE   |160.400|
--> TUBE    |6.000|
--> WHEEL   |4.000|
select e.p, p.descr from table(function explode('WHEEL')) as e (l, p, q, s), part p where p.part = e.p and e.l > 0 order by 1;
--> RIM     |Rim|
--> SPOKE   |Spoke|
-- a cycle
insert into bom values ('RIM', 'BIKE', 1, 0);
execute procedure set_levels();
--> error -746, 0, the bills of material have a cycle
create procedure first_cycle(p_part char(8)) returning varchar(60);
   define e, i, l integer; define t varchar(60); define p char(8); define q decimal(12,3); define s lvarchar(400);
   on exception in (-746) set e, i, t
      return i || ': ' || t;
   end exception
   foreach execute procedure explode(p_part) into l, p, q, s
   end foreach
   return null;
end procedure;
execute procedure first_cycle('BIKE');
--> 3: /BIKE/WHEEL/RIM/BIKE is a cycle|
execute procedure first_cycle('FRAME');
--> |
