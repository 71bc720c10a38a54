-- Order entry with stock: several warehouses, lines that are undone alone, whole orders undone, reservations that expire.

CREATE TABLE whs
  (
    whs_no   SMALLINT NOT NULL PRIMARY KEY CONSTRAINT pk_whs,
    prio     SMALLINT,
    closed   CHAR(1) DEFAULT 'N'
  );
CREATE TABLE stock
  (
    whs_no   SMALLINT REFERENCES whs (whs_no) CONSTRAINT fk_stock_whs,
    art      CHAR(10),
    on_hand  INTEGER,
    reserved INTEGER DEFAULT 0,
    PRIMARY KEY (whs_no, art) CONSTRAINT pk_stock,
    CHECK (reserved <= on_hand) CONSTRAINT ck_stock
  );
CREATE TABLE basket (basket INTEGER, pos SMALLINT, art CHAR(10), qty INTEGER, partial CHAR(1));
CREATE TABLE so_head (so_no SERIAL(500), cust INTEGER, entered DATETIME YEAR TO SECOND, status CHAR(2));
CREATE TABLE so_line (so_no INTEGER, pos SMALLINT, art CHAR(10), qty INTEGER, got INTEGER);
CREATE TABLE reserv (so_no INTEGER, pos SMALLINT, whs_no SMALLINT, qty INTEGER, until DATETIME YEAR TO SECOND);
INSERT INTO whs VALUES (1, 1, 'N');
INSERT INTO whs VALUES (2, 2, 'N');
INSERT INTO whs VALUES (3, 3, 'Y');
INSERT INTO stock VALUES (1, 'NUT', 100, 20);
INSERT INTO stock VALUES (2, 'NUT', 50, 0);
INSERT INTO stock VALUES (3, 'NUT', 500, 0);
INSERT INTO stock VALUES (1, 'SAW', 3, 3);
INSERT INTO stock VALUES (2, 'SAW', 2, 0);
INSERT INTO stock VALUES (2, 'VICE', 1, 0);
INSERT INTO basket VALUES (1, 1, 'NUT', 100, 'N');
INSERT INTO basket VALUES (1, 2, 'SAW', 5, 'Y');
INSERT INTO basket VALUES (1, 3, 'VICE', 2, 'N');
INSERT INTO basket VALUES (1, 4, 'BOLT', 1, 'N');
INSERT INTO basket VALUES (2, 1, 'NUT', 10, 'N');
INSERT INTO basket VALUES (2, 2, 'VICE', 2, 'N');
INSERT INTO basket VALUES (3, 1, 'SAW', 1, 'Y');
INSERT INTO basket VALUES (4, 1, 'NUT', 5, 'N');
INSERT INTO basket VALUES (4, 2, 'NUT', 0, 'N');

CREATE PROCEDURE enter_order ( p_basket  INTEGER ,
                               p_cust    INTEGER ,
                               p_now     DATETIME YEAR TO SECOND ,
                               p_all     CHAR(1) DEFAULT 'N' )
       RETURNING INTEGER AS so_no, CHAR(2) AS status, SMALLINT AS ok, SMALLINT AS short ;

   { --------------------------------------------------------------
      Takes a basket over as an order and reserves its stock.
        OK   all lines,  PA  some of it,  RJ  nothing
      p_all = 'Y': the whole basket, or no order at all.
     -------------------------------------------------------------- }
   DEFINE l_so, l_need, l_free, l_take, l_got  INTEGER ;
   DEFINE l_any, l_qty                         INTEGER ;
   DEFINE l_pos, l_whs, l_ok, l_short          SMALLINT ;
   DEFINE l_art                                LIKE basket.art ;
   DEFINE l_part                               CHAR(1) ;
   DEFINE l_status                             CHAR(2) ;
   DEFINE e_sql, e_isam                        INTEGER ;
   DEFINE e_text                               VARCHAR(72) ;

   -- whatever happens, no half order stays behind
   ON EXCEPTION SET e_sql, e_isam, e_text
      ROLLBACK WORK ;
      RAISE EXCEPTION e_sql, e_isam, e_text ;
   END EXCEPTION ;

   LET l_ok, l_short, l_any = 0, 0, 0 ;
   BEGIN WORK ;

   INSERT INTO so_head ( so_no, cust, entered, status )
               VALUES  ( 0, p_cust, p_now, 'EN' ) ;
   LET l_so = DBINFO( 'sqlca.sqlerrd1' ) ;

   FOREACH c_pos FOR
      SELECT pos, art, qty, partial
        INTO l_pos, l_art, l_qty, l_part
        FROM basket
       WHERE basket = p_basket
       ORDER BY pos

      IF l_qty <= 0 THEN
         RAISE EXCEPTION -746, 0, 'position ' || l_pos || ': quantity ' || l_qty ;
      END IF

      SAVEPOINT sp_line ;
      LET l_need = l_qty ;
      LET l_got  = 0 ;

      /* the nearest warehouse first; as much as there is */
      FOREACH
         SELECT w.whs_no, s.on_hand - s.reserved, w.prio
           INTO l_whs, l_free, l_take
           FROM whs w, stock s
          WHERE s.whs_no = w.whs_no AND s.art = l_art AND w.closed <> 'Y'
          ORDER BY w.prio

         IF l_free <= 0 THEN CONTINUE FOREACH; END IF
         IF l_free < l_need THEN
              LET l_take = l_free ;
         ELSE LET l_take = l_need ;
         END IF

         UPDATE stock SET reserved = reserved + l_take
          WHERE whs_no = l_whs AND art = l_art ;
         INSERT INTO reserv VALUES ( l_so, l_pos, l_whs, l_take, p_now + 2 UNITS DAY ) ;
         LET l_need = l_need - l_take ;
         LET l_got  = l_got + l_take ;
         IF l_need = 0 THEN EXIT FOREACH; END IF
      END FOREACH

      IF l_need > 0 THEN
         LET l_short = l_short + 1 ;
         IF l_part = 'N' THEN
            ROLLBACK WORK TO SAVEPOINT sp_line ;
            LET l_got = 0 ;
         END IF
      ELSE
         LET l_ok = l_ok + 1 ;
      END IF
      RELEASE SAVEPOINT sp_line ;
      INSERT INTO so_line VALUES ( l_so, l_pos, l_art, l_qty, l_got ) ;
      LET l_any = l_any + l_got ;
   END FOREACH

   IF l_ok + l_short = 0 THEN
      RAISE EXCEPTION -746, 0, 'basket ' || p_basket || ' is empty' ;
   END IF

   IF   l_short = 0 THEN  LET l_status = 'OK' ;
   ELIF l_any   > 0 THEN  LET l_status = 'PA' ;
   ELSE                   LET l_status = 'RJ' ;
   END IF

   IF p_all = 'Y' AND l_status <> 'OK' THEN
      ROLLBACK WORK ;
      RETURN NULL, 'RJ', l_ok, l_short ;
   END IF

   UPDATE so_head SET status = l_status WHERE so_no = l_so ;
   COMMIT WORK ;
   RETURN l_so, l_status, l_ok, l_short ;

END PROCEDURE
DOCUMENT 'enter_order (basket, customer, time, all or none)',
         'Reserves the stock of a basket' ;

create procedure release_expired (p_now datetime year to second)
     returning integer as so_no, integer as lines, integer as pieces;
  -- gives the stock of expired reservations back; one row for each order that had some

  define v_so, v_last, v_lines, v_pieces, v_qty integer;
  define v_pos, v_whs smallint;
  define v_art like so_line.art;

  create temp table t_rel (so_no integer, qty integer) with no log;

  begin work;
  foreach c_rel for
     select so_no, pos, whs_no, qty
       into v_so, v_pos, v_whs, v_qty
       from reserv
      where until <= p_now

     select art into v_art from so_line where so_no = v_so and pos = v_pos;

     update stock
        set reserved = reserved - v_qty
      where whs_no = v_whs and art = v_art;
     if dbinfo('sqlca.sqlerrd2') <> 1 then
        rollback work;
        drop table t_rel;
        raise exception -746, v_so, 'stock of ' || trim(v_art) || ' is gone';
     end if;

     update so_line set got = got - v_qty where so_no = v_so and pos = v_pos;
     insert into t_rel values (v_so, v_qty);
     delete from reserv where current of c_rel;
  end foreach;

  -- an order of which nothing is left has expired
  update so_head
     set status = 'EX'
   where status in ('OK', 'PA')
     and not exists (select so_no from reserv r where r.so_no = so_head.so_no);
  commit work;

  -- the total of each order, in the order of their numbers (a control break)
  let v_last, v_lines, v_pieces = null, 0, 0;
  foreach
     select so_no, qty into v_so, v_qty from t_rel order by so_no
     if v_last <> v_so then
        return v_last, v_lines, v_pieces with resume;
        let v_lines, v_pieces = 0, 0;
     end if;
     let v_last = v_so;
     let v_lines = v_lines + 1;
     let v_pieces = v_pieces + v_qty;
  end foreach;
  drop table t_rel;
  if v_last is not null then
     return v_last, v_lines, v_pieces with resume;
  end if;
end procedure;

-- NUT: 80 of warehouse 1, 20 of warehouse 2; SAW: only 2; VICE: 1 of 2, undone; BOLT: not in stock
execute procedure enter_order(1, 77, '2026-11-02 09:00:00');
--> 500|PA|1|3|
select pos, art, qty, got from so_line where so_no = 500 order by pos;
--> 1|NUT       |100|100|
--> 2|SAW       |5|2|
--> 3|VICE      |2|0|
--> 4|BOLT      |1|0|
select pos, whs_no, qty, until from reserv where so_no = 500 order by pos, whs_no;
--> 1|1|80|2026-11-04 09:00:00|
--> 1|2|20|2026-11-04 09:00:00|
--> 2|2|2|2026-11-04 09:00:00|
select whs_no, art, on_hand - reserved from stock order by 1, 2;
--> 1|NUT       |0|
--> 1|SAW       |0|
--> 2|NUT       |30|
--> 2|SAW       |0|
--> 2|VICE      |1|
--> 3|NUT       |500|
-- NUT succeeds, VICE does not: nothing of it stays, but the number 501 is used
execute procedure enter_order(2, 78, '2026-11-02 10:30:00', 'Y');
--> |RJ|1|1|
select count(*) from reserv;
--> 3|
-- all SAWs are reserved
execute procedure enter_order(3, 79, '2026-11-02 11:00:00');
--> 502|RJ|0|1|
execute procedure enter_order(4, 79, '2026-11-02 11:00:00');
--> error -746, 0, position 2: quantity 0
execute procedure enter_order(9, 79, '2026-11-02 11:00:00');
--> error -746, 0, basket 9 is empty
-- 503 and 504 are used, too
execute procedure enter_order(p_basket = 2, p_now = '2026-11-03 08:00:00', p_cust = 80);
--> 505|PA|1|1|
select so_no, cust, entered, status from so_head order by so_no;
--> 500|77|2026-11-02 09:00:00|PA|
--> 502|79|2026-11-02 11:00:00|RJ|
--> 505|80|2026-11-03 08:00:00|PA|
execute procedure release_expired('2026-11-04 08:59:59');
--> no rows
execute procedure release_expired('2026-11-04 09:00:00');
--> 500|3|102|
select so_no, status from so_head order by so_no;
--> 500|EX|
--> 502|RJ|
--> 505|PA|
select whs_no, art, reserved from stock where art <> 'VICE' order by 1, 2;
--> 1|NUT       |20|
--> 1|SAW       |3|
--> 2|NUT       |10|
--> 2|SAW       |0|
--> 3|NUT       |0|
-- another order of 20 pieces: 20 of warehouse 1; then the stock of NUT in it is deleted
update basket set qty = 20 where basket = 4;
execute procedure enter_order(4, 81, '2026-11-04 12:00:00', 'Y');
--> 506|OK|2|0|
delete from stock where whs_no = 1 and art = 'NUT';
execute procedure release_expired('2026-12-01 00:00:00');
--> error -746, 506, stock of NUT is gone
select so_no, sum(qty) from reserv group by so_no order by so_no;
--> 505|10|
--> 506|40|
