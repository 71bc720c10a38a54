-- Price lists: validity, fallback to a general list, rises with rounding to a step, copies, gaps and overlaps.

CREATE TABLE price (
    list_no SMALLINT, item CHAR(6), valid_from DATE, valid_to DATE, price DECIMAL(10,2),
    PRIMARY KEY (list_no, item, valid_from) CONSTRAINT pk_price
);
INSERT INTO price VALUES (0, 'NUT', MDY(1, 1, 2026), NULL, 0.10);
INSERT INTO price VALUES (0, 'RAIL', MDY(1, 1, 2026), NULL, 14.99);
INSERT INTO price VALUES (0, 'ROPE', MDY(1, 1, 2026), NULL, 2.22);
INSERT INTO price VALUES (7, 'RAIL', MDY(2, 1, 2026), MDY(3, 31, 2026), 12.50);
INSERT INTO price VALUES (7, 'RAIL', MDY(5, 1, 2026), NULL, 13.00);
INSERT INTO price VALUES (7, 'ROPE', MDY(1, 1, 2026), MDY(6, 30, 2026), 2.00);
INSERT INTO price VALUES (7, 'ROPE', MDY(6, 15, 2026), NULL, 2.10);

create function last_day (p_list smallint) returning date;
    -- a variable that nobody declared
    select max(valid_to) into v_last from price where list_no = p_list;
    return v_last;
end function;
--> error -667, 0, v_last

create function price_on (p_list smallint, p_item char(6), p_date date default today)
    returning decimal(10,2), smallint;
    -- The price, and the list that it is from: the list itself or list 0.
    define v_price decimal(10,2);
    define v_from  date;
    define v_list  smallint;

    for v_list in (p_list, 0)
        let v_price = null;
        foreach
            select first 1 price, valid_from
              into v_price, v_from
              from price
             where list_no = v_list and item = p_item
               and valid_from <= p_date
               and (valid_to is null or valid_to >= p_date)
             order by valid_from desc
        end foreach;
        if v_price is not null then
            return v_price, v_list;
        end if;
    end for;
    return null, null;
end function;

create function to_step (p_price decimal(12,4), p_step decimal(6,2)) returning decimal(10,2) with (not variant);
    -- The nearest multiple of the step, but never nothing.
    define v_price decimal(10,2);
    if p_step is null or p_step = 0 then
        return round(p_price, 2);
    end if;
    let v_price = round(p_price / p_step, 0) * p_step;
    if v_price = 0 and p_price > 0 then
        let v_price = p_step;
    end if;
    return v_price;
end function;

create procedure raise_prices (p_list smallint, p_percent decimal(5,2), p_from date, p_step decimal(6,2) default 0.05)
    returning integer, decimal(12,2);
    -- Ends the prices that are valid on the day and begins new ones; returns their number and the sum of the rises.
    define v_item char(6);
    define v_since, v_to date;
    define v_old, v_new decimal(10,2);
    define v_count integer;
    define v_sum decimal(12,2);

    let v_count = 0;
    let v_sum = 0;
    select item, valid_from, valid_to, price
      from price
     where list_no = p_list and valid_from < p_from and (valid_to is null or valid_to >= p_from)
      into temp t_current with no log;

    foreach select item, valid_from, valid_to, price into v_item, v_since, v_to, v_old from t_current order by item
        let v_new = to_step(v_old * (100 + p_percent) / 100, p_step);
        continue foreach when v_new = v_old;
        update price set valid_to = p_from - 1 units day
         where list_no = p_list and item = v_item and valid_from = v_since;
        insert into price values (p_list, v_item, p_from, v_to, v_new);
        let v_count = v_count + 1;
        let v_sum = v_sum + v_new - v_old;
    end foreach;
    drop table t_current;
    return v_count, v_sum;
end procedure;

CREATE PROCEDURE copy_list (p_from SMALLINT, p_to SMALLINT) RETURNING INTEGER AS copied, INTEGER AS there;
    DEFINE v_item CHAR(6);
    DEFINE v_since, v_until DATE;
    DEFINE v_price DECIMAL(10,2);
    DEFINE v_copied, v_there INTEGER;

    -- a price that is there stays; the statement behind the INSERT would count it, so take it back
    ON EXCEPTION IN (-239, -268)
        LET v_there = v_there + 1;
        LET v_copied = v_copied - 1;
    END EXCEPTION WITH RESUME;

    LET v_copied = 0;
    LET v_there = 0;
    FOREACH SELECT item, valid_from, valid_to, price INTO v_item, v_since, v_until, v_price
              FROM price WHERE list_no = p_from ORDER BY item, valid_from
        INSERT INTO price VALUES (p_to, v_item, v_since, v_until, v_price);
        LET v_copied = v_copied + 1;
    END FOREACH;
    RETURN v_copied, v_there;
END PROCEDURE;

CREATE PROCEDURE check_list (p_list SMALLINT) RETURNING CHAR(6) AS item, DATE AS since, DATE AS until, CHAR(7) AS kind;
    -- Days without a price between two prices, and days with two.
    DEFINE v_item, v_last CHAR(6);
    DEFINE v_from, v_to, v_end DATE;

    LET v_last = '';
    LET v_end = NULL;
    FOREACH SELECT item, valid_from, NVL(valid_to, MDY(12, 31, 9999)) INTO v_item, v_from, v_to
              FROM price WHERE list_no = p_list ORDER BY item, valid_from
        IF v_item = v_last THEN
            IF v_from > v_end + 1 THEN
                RETURN v_item, v_end + 1, v_from - 1, 'gap' WITH RESUME;
            ELIF v_from <= v_end THEN
                RETURN v_item, v_from, v_end, 'overlap' WITH RESUME;
            END IF;
        END IF;
        LET v_last = v_item;
        LET v_end = v_to;
    END FOREACH;
END PROCEDURE;

execute function price_on(7, 'RAIL', mdy(3, 31, 2026));
--> 12.50|7|
-- no price of list 7 in April
execute function price_on(7, 'RAIL', mdy(4, 1, 2026));
--> 14.99|0|
-- two prices are valid: the later one
execute function price_on(7, 'ROPE', mdy(6, 20, 2026));
--> 2.10|7|
execute function price_on(7, 'ROPE', mdy(12, 31, 2025));
--> ||
-- 15.024 / 0.05 = 300.48; 15.026 / 0.05 = 300.52; half a step goes up
select to_step(15.024, 0.05), to_step(15.026, 0.05), to_step(0.075, 0.05), to_step(0.01, 0.05), to_step(1.005, 0)
  from sysmaster:sysdual;
--> 15.00|15.05|0.10|0.05|1.01|
execute procedure check_list(7);
--> RAIL  |2026-04-01|2026-04-30|gap    |
--> ROPE  |2026-06-15|2026-06-30|overlap|
execute procedure check_list(0);
--> no rows
-- NUT 0.103 stays 0.10; RAIL 15.4397 to 15.45, + 0.46; ROPE 2.2866 to 2.30, + 0.08
execute procedure raise_prices(0, 3, mdy(7, 1, 2026));
--> 2|0.54|
select item, valid_from, valid_to, price from price where list_no = 0 order by item, valid_from;
--> NUT   |2026-01-01||0.10|
--> RAIL  |2026-01-01|2026-06-30|14.99|
--> RAIL  |2026-07-01||15.45|
--> ROPE  |2026-01-01|2026-06-30|2.22|
--> ROPE  |2026-07-01||2.30|
-- the temporary table can be made again; no price began before that day
execute procedure raise_prices(0, 3, mdy(1, 1, 2026));
--> 0|0.00|
execute procedure check_list(0);
--> no rows
-- 10 per cent off on 1 March, without steps: RAIL 11.25, ROPE 1.80, each until the day it ended before
execute procedure raise_prices(7, -10, mdy(3, 1, 2026), 0);
--> 2|-1.45|
select item, valid_from, valid_to, price from price where list_no = 7 and valid_from <= mdy(3, 1, 2026)
 order by item, valid_from;
--> RAIL  |2026-02-01|2026-02-28|12.50|
--> RAIL  |2026-03-01|2026-03-31|11.25|
--> ROPE  |2026-01-01|2026-02-28|2.00|
--> ROPE  |2026-03-01|2026-06-30|1.80|
-- of the five prices of list 0, ROPE's of 1 January is there
execute procedure copy_list(0, 7);
--> 4|1|
select count(*) from price where list_no = 7;
--> 10|
