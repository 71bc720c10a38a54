-- Stock: reservation, release, back orders by a cursor, receipts, a report with totals.

CREATE TABLE depot (depot_id SMALLINT PRIMARY KEY, name VARCHAR(20), priority SMALLINT);
CREATE TABLE stock (
    depot_id SMALLINT, item CHAR(6), on_hand INTEGER, reserved INTEGER DEFAULT 0, reorder_at INTEGER,
    CHECK (reserved <= on_hand) CONSTRAINT ck_reserved,
    PRIMARY KEY (depot_id, item) CONSTRAINT pk_stock
);
CREATE TABLE reservation (
    res_id SERIAL PRIMARY KEY, order_no INTEGER, depot_id SMALLINT, item CHAR(6), qty INTEGER
);
CREATE TABLE backorder (bo_id SERIAL, order_no INTEGER, item CHAR(6), wanted INTEGER, filled INTEGER DEFAULT 0,
    done CHAR(1) DEFAULT 'N');
INSERT INTO depot VALUES (1, 'North', 2);
INSERT INTO depot VALUES (2, 'South', 1);
INSERT INTO depot VALUES (3, 'Outlet', 3);
INSERT INTO stock VALUES (1, 'LAMP', 10, 0, 5);
INSERT INTO stock VALUES (2, 'LAMP', 4, 0, 5);
INSERT INTO stock VALUES (3, 'LAMP', 1, 1, 0);
INSERT INTO stock VALUES (1, 'CHAIR', 3, 0, 3);
INSERT INTO stock VALUES (2, 'CHAIR', 0, 0, 2);

create procedure reserve_stock (p_order int, p_item char(6), p_qty int)
    returning int as reserved, int as missing;

    --------------------------------------------------------------
    -- Takes what is wanted from the depots in order of priority;
    -- what is missing becomes a back order.
    --------------------------------------------------------------
    define v_depot smallint;
    define v_free, v_take, v_rest int;

    let v_rest = p_qty;
    foreach
        select s.depot_id, s.on_hand - s.reserved
          into v_depot, v_free
          from stock s, depot d
         where s.item = p_item
           and d.depot_id = s.depot_id
           and s.on_hand > s.reserved
         order by d.priority

        if v_rest = 0 then
            exit foreach;
        end if;
        if v_free < v_rest then
            let v_take = v_free;
        else
            let v_take = v_rest;
        end if;
        update stock
           set reserved = reserved + v_take
         where depot_id = v_depot and item = p_item;
        insert into reservation values (0, p_order, v_depot, p_item, v_take);
        let v_rest = v_rest - v_take;
    end foreach;

    if v_rest > 0 then
        insert into backorder (bo_id, order_no, item, wanted) values (0, p_order, p_item, v_rest);
    end if;
    return p_qty - v_rest, v_rest;
end procedure;

create procedure release_stock (p_order int) returning int;
    define v_depot smallint;
    define v_item char(6);
    define v_qty, v_count int;

    let v_count = 0;
    begin work;
    foreach c_res for
        select depot_id, item, qty into v_depot, v_item, v_qty
          from reservation
         where order_no = p_order

        update stock set reserved = reserved - v_qty
         where depot_id = v_depot and item = v_item;
        if dbinfo('sqlca.sqlerrd2') <> 1 then
            rollback work;
            raise exception -746, 0, 'no stock of ' || trim(v_item) || ' in depot ' || v_depot;
        end if;
        delete from reservation where current of c_res;
        let v_count = v_count + v_qty;
    end foreach;
    commit work;
    return v_count;
end procedure;

CREATE PROCEDURE receive_goods (p_depot SMALLINT, p_item CHAR(6), p_qty INT) RETURNING INT, INT;
    /*
     * Books a receipt, and fills back orders with it.
     * Returns the number of back orders that are complete, and what was given to them.
     */
    DEFINE v_id, v_order, v_open, v_free, v_give INT;
    DEFINE v_done, v_given INT;

    LET v_done, v_given = 0, 0;
    BEGIN WORK;
    UPDATE stock SET on_hand = on_hand + p_qty WHERE depot_id = p_depot AND item = p_item;
    IF DBINFO('sqlca.sqlerrd2') = 0 THEN
        INSERT INTO stock VALUES (p_depot, p_item, p_qty, 0, 0);
    END IF;
    SELECT on_hand - reserved INTO v_free FROM stock WHERE depot_id = p_depot AND item = p_item;

    FOREACH c_bo FOR
        SELECT bo_id, order_no, wanted - filled
          INTO v_id, v_order, v_open
          FROM backorder
         WHERE item = p_item AND done = 'N'

        EXIT FOREACH WHEN v_free <= 0;
        LET v_give = v_open;
        IF v_give > v_free THEN
            LET v_give = v_free;
            UPDATE backorder SET filled = filled + v_give WHERE CURRENT OF c_bo;
        ELSE
            UPDATE backorder SET filled = filled + v_give, done = 'Y' WHERE CURRENT OF c_bo;
            LET v_done = v_done + 1;
        END IF;
        INSERT INTO reservation VALUES (0, v_order, p_depot, p_item, v_give);
        UPDATE stock SET reserved = reserved + v_give WHERE depot_id = p_depot AND item = p_item;
        LET v_free = v_free - v_give;
        LET v_given = v_given + v_give;
    END FOREACH;
    COMMIT WORK;
    RETURN v_done, v_given;
END PROCEDURE;

CREATE FUNCTION stock_report() RETURNING CHAR(6) AS item, VARCHAR(20) AS depot, INT AS free, VARCHAR(10) AS note;
    { A row for each depot, and a row of totals for each item. }
    DEFINE v_item, v_last CHAR(6);
    DEFINE v_name VARCHAR(20);
    DEFINE v_free, v_sum, v_level INT;
    DEFINE v_note VARCHAR(10);

    LET v_last = NULL;
    LET v_sum = 0;
    FOREACH SELECT s.item, d.name, s.on_hand - s.reserved, s.reorder_at
              INTO v_item, v_name, v_free, v_level
              FROM stock s, depot d
             WHERE s.depot_id = d.depot_id
             ORDER BY s.item, d.name
        IF v_last IS NOT NULL AND v_last <> v_item THEN
            RETURN v_last, '*', v_sum, '' WITH RESUME;
            LET v_sum = 0;
        END IF;
        LET v_note = CASE WHEN v_free < v_level THEN 'reorder' ELSE NULL END;
        RETURN v_item, v_name, v_free, v_note WITH RESUME;
        LET v_sum = v_sum + v_free;
        LET v_last = v_item;
    END FOREACH;
    IF v_last IS NOT NULL THEN
        RETURN v_last, '*', v_sum, '' WITH RESUME;
    END IF;
END FUNCTION;

-- South has priority 1 and 4 lamps, North gives 2 of 10
execute procedure reserve_stock(501, 'LAMP', 6);
--> 6|0|
-- 8 are free in North, none elsewhere: the only one of the outlet is reserved
execute procedure reserve_stock(502, 'LAMP', 10);
--> 8|2|
execute procedure reserve_stock(503, 'LAMP', 3);
--> 0|3|
execute procedure reserve_stock(503, 'CHAIR', 1);
--> 1|0|
select res_id, order_no, depot_id, qty from reservation order by res_id;
--> 1|501|2|4|
--> 2|501|1|2|
--> 3|502|1|8|
--> 4|503|1|1|
select order_no, wanted, filled, done from backorder order by bo_id;
--> 502|2|0|N|
--> 503|3|0|N|
-- free: CHAIR North 3 - 1, South 0; LAMP North 10 - 10, Outlet 1 - 1, South 4 - 4
execute function stock_report();
--> CHAIR |North|2|reorder|
--> CHAIR |South|0|reorder|
--> CHAIR |*|2||
--> LAMP  |North|0|reorder|
--> LAMP  |Outlet|0||
--> LAMP  |South|0|reorder|
--> LAMP  |*|0||
-- 3 lamps: 2 complete order 502, 1 of 3 goes to order 503
execute procedure receive_goods(2, 'LAMP', 3);
--> 1|3|
execute procedure receive_goods(3, 'LAMP', 5);
--> 1|2|
execute procedure receive_goods(3, 'STOOL', 5);
--> 0|0|
select order_no, wanted, filled, done from backorder order by bo_id;
--> 502|2|2|Y|
--> 503|3|3|Y|
-- order 501: 4 + 2
execute procedure release_stock(501);
--> 6|
execute procedure release_stock(501);
--> 0|
select depot_id, item, on_hand, reserved from stock order by item, depot_id;
--> 1|CHAIR |3|1|
--> 2|CHAIR |0|0|
--> 1|LAMP  |10|8|
--> 2|LAMP  |7|3|
--> 3|LAMP  |6|3|
--> 3|STOOL |5|0|
-- without its stock the reservation stays, and so does that of the other depot
delete from stock where depot_id = 2 and item = 'LAMP';
execute procedure release_stock(502);
--> error -746, 0, no stock of LAMP in depot 2
select sum(qty) from reservation where order_no = 502;
--> 10|
select reserved from stock where depot_id = 1 and item = 'LAMP';
--> 8|
-- no transaction is open any more
commit work;
--> error -255, 0
update stock set reserved = 9 where item = 'STOOL';
--> error -530, 0, anna.ck_reserved
