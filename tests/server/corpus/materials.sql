-- Bills of material: explosion, costs, where an item is used, cycles; by recursion and by levels.

create table part (part char(5) primary key, cost decimal(10,4), made char(1));
create table bom (parent char(5) references part, child char(5) references part, qty decimal(8,3), scrap_pct decimal(5,2) default 0,
    primary key (parent, child));
create table explosion (path varchar(60), part char(5), level smallint, qty decimal(12,3));
create table requirement (part char(5), qty decimal(12,3));
insert into part values ('BIKE', 12.50, 'M');
insert into part values ('WHEEL', 4.00, 'M');
insert into part values ('FRAME', 55.00, 'B');
insert into part values ('RIM', 7.25, 'B');
insert into part values ('SPOKE', 0.11, 'B');
insert into part values ('BOLT', 0.055, 'B');
insert into bom values ('BIKE', 'WHEEL', 2, 0);
insert into bom values ('BIKE', 'FRAME', 1, 0);
insert into bom values ('BIKE', 'BOLT', 8, 0);
insert into bom values ('WHEEL', 'RIM', 1, 0);
insert into bom values ('WHEEL', 'SPOKE', 32, 5);
insert into bom values ('WHEEL', 'BOLT', 2, 0);

create procedure explode (p_part char(5), p_qty decimal(12,3) default 1, p_level smallint default 0,
                          p_path varchar(60) default '')
    -- Depth first; the path says where an item is used.
    define v_child char(5);
    define v_qty decimal(12,3);
    define v_path varchar(60);

    if p_level > 10 then
        raise exception -746, 0, 'too deep: ' || p_path;
    end if;
    let v_path = p_path || '/' || trim(p_part);
    insert into explosion values (v_path, p_part, p_level, p_qty);
    foreach
        select child, qty * (100 + scrap_pct) / 100
          into v_child, v_qty
          from bom
         where parent = p_part
         order by child
        execute procedure explode (v_child, p_qty * v_qty, p_level + 1, v_path);
    end foreach;
end procedure;

create function unit_cost (p_part char(5)) returning decimal(12,4);
    define v_cost decimal(12,4);
    define v_child char(5);
    define v_qty decimal(12,3);

    let v_cost = (select cost from part where part = p_part);
    if v_cost is null then
        raise exception -746, 0, 'no part ' || trim(p_part);
    end if;
    foreach select child, qty * (1 + scrap_pct / 100) into v_child, v_qty from bom where parent = p_part
        let v_cost = v_cost + v_qty * unit_cost(v_child);
    end foreach;
    return v_cost;
end function;

CREATE PROCEDURE where_used (p_part CHAR(5)) RETURNING CHAR(5) AS part, SMALLINT AS level;
    -- By levels, each part once at its lowest level; over a temporary table.
    DEFINE v_part CHAR(5);
    DEFINE v_level SMALLINT;

    CREATE TEMP TABLE t_used (part CHAR(5), level SMALLINT) WITH NO LOG;
    INSERT INTO t_used VALUES (p_part, 0);
    LET v_level = 0;
    WHILE v_level < 20
        INSERT INTO t_used
        SELECT DISTINCT b.parent, v_level + 1
          FROM bom b, t_used t
         WHERE b.child = t.part
           AND t.level = v_level
           AND b.parent NOT IN (SELECT part FROM t_used);
        IF DBINFO('sqlca.sqlerrd2') = 0 THEN
            EXIT WHILE;
        END IF;
        LET v_level = v_level + 1;
    END WHILE;
    FOREACH SELECT part, level INTO v_part, v_level FROM t_used WHERE level > 0 ORDER BY level, part
        RETURN v_part, v_level WITH RESUME;
    END FOREACH;
    DROP TABLE t_used;
END PROCEDURE;

create procedure add_component (p_parent char(5), p_child char(5), p_qty decimal(8,3))
    -- Refuses what would make a cycle.
    define v_part char(5);
    define v_level smallint;

    if p_parent = p_child then
        raise exception -746, 0, trim(p_parent) || ' in itself';
    end if;
    foreach execute procedure where_used(p_parent) into v_part, v_level
        if v_part = p_child then
            drop table t_used;
            raise exception -746, 0, trim(p_parent) || ' is in ' || trim(p_child) || ', level ' || v_level;
        end if;
    end foreach;
    begin
        on exception in (-239, -268)
            update bom set qty = qty + p_qty where parent = p_parent and child = p_child;
        end exception;
        insert into bom (parent, child, qty) values (p_parent, p_child, p_qty);
    end;
end procedure;

CREATE PROCEDURE requirements (p_part CHAR(5), p_qty INTEGER) RETURNING INTEGER;
    -- What has to be bought for a number of parts, in whole units.
    DEFINE v_rows INTEGER;
    DELETE FROM explosion;
    DELETE FROM requirement;
    CALL explode(p_part, p_qty);
    INSERT INTO requirement
    SELECT e.part, CEIL(SUM(e.qty))
      FROM explosion e, part p
     WHERE p.part = e.part AND p.made = 'B'
     GROUP BY e.part;
    LET v_rows = DBINFO('sqlca.sqlerrd2');
    RETURN v_rows;
END PROCEDURE;

execute procedure explode('BIKE');
-- 32 spokes and 5 per cent are 33.6, twice
select path, level, qty from explosion order by path;
--> /BIKE|0|1.000|
--> /BIKE/BOLT|1|8.000|
--> /BIKE/FRAME|1|1.000|
--> /BIKE/WHEEL|1|2.000|
--> /BIKE/WHEEL/BOLT|2|4.000|
--> /BIKE/WHEEL/RIM|2|2.000|
--> /BIKE/WHEEL/SPOKE|2|67.200|
-- wheel: 4 + 7.25 + 33.6 * 0.11 + 2 * 0.055 = 4 + 7.25 + 3.696 + 0.11
execute function unit_cost('WHEEL');
--> 15.0560|
-- 12.50 + 2 * 15.056 + 55 + 8 * 0.055
execute function unit_cost('BIKE');
--> 98.0520|
execute function unit_cost('CAR');
--> error -746, 0, no part CAR
execute procedure where_used('BOLT');
--> BIKE |1|
--> WHEEL|1|
execute procedure where_used('RIM');
--> WHEEL|1|
--> BIKE |2|
execute procedure where_used('BIKE');
--> no rows
execute procedure add_component('RIM', 'RIM', 1);
--> error -746, 0, RIM in itself
execute procedure add_component('RIM', 'BIKE', 1);
--> error -746, 0, RIM is in BIKE, level 2
execute procedure add_component('FRAME', 'BOLT', 3);
execute procedure add_component('FRAME', 'BOLT', 1.5);
select qty from bom where parent = 'FRAME';
--> 4.500|
-- 5 bikes: bolts 5 * (8 + 2 * 2 + 4.5) = 82.5, spokes 5 * 67.2
execute procedure requirements('BIKE', 5);
--> 4|
select part, qty from requirement order by part;
--> BOLT |83.000|
--> FRAME|5.000|
--> RIM  |10.000|
--> SPOKE|336.000|
-- a cycle that the check has not seen
insert into bom values ('RIM', 'WHEEL', 1, 0);
execute procedure requirements('WHEEL', 1);
--> error -746, 0, too deep: /WHEEL/RIM/WHEEL/RIM/WHEEL/RIM/WHEEL/RIM/WHEEL/RIM/WHEEL
