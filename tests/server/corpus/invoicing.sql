-- Invoices: tax by rate, rounded once for each; a discount that is shared out to the cent; payments; reminders.

create table tax (code char(1) primary key, pct decimal(5,2));
create table invoice
  (
    inv_no serial(20001) primary key,
    customer varchar(20),
    inv_date date,
    due date,
    net decimal(12,2),
    tax decimal(12,2),
    paid decimal(12,2) default 0.00,
    level smallint default 0
  );
create table inv_line
  (
    inv_no integer references invoice on delete cascade,
    pos smallint,
    qty decimal(8,3),
    price decimal(12,4),
    net decimal(12,2),
    discount decimal(12,2) default 0,
    code char(1) references tax,
    primary key (inv_no, pos)
  );
insert into tax values ('N', 19);
insert into tax values ('R', 7);
insert into tax values ('Z', 0);

create procedure begin_invoice(p_customer varchar(20), p_date date, p_days smallint default 30)
    returning integer;
    insert into invoice (inv_no, customer, inv_date, due) values (0, p_customer, p_date, p_date + p_days);
    return dbinfo('sqlca.sqlerrd1');
end procedure;

create procedure add_position(p_inv integer, p_qty decimal(8,3), p_price decimal(12,4), p_code char(1))
    returning smallint, decimal(12,2);
    define v_pos smallint;
    define v_net decimal(12,2);
    define sql_err, isam_err integer;
    define err_text varchar(100);

    on exception in (-691) set sql_err, isam_err, err_text
        -- which of the two keys: the text names the constraint, the reader wants the value
        if not exists (select 1 from tax where code = p_code) then
            raise exception -746, 0, 'unknown tax code ' || p_code;
        end if;
        raise exception -746, 0, 'unknown invoice ' || p_inv;
    end exception;

    select nvl(max(pos), 0) + 1 into v_pos from inv_line where inv_no = p_inv;
    let v_net = round(p_qty * p_price, 2);
    insert into inv_line (inv_no, pos, qty, price, net, code) values (p_inv, v_pos, p_qty, p_price, v_net, p_code);
    return v_pos, v_net;
end procedure;

create procedure share_discount(p_inv integer, p_amount decimal(12,2))
    returning smallint as pos, decimal(12,2) as discount;
    /* In proportion to the lines; what rounding leaves goes to the largest line. */
    define v_total, v_rest, v_part, v_net decimal(12,2);
    define v_pos, v_largest smallint;

    select sum(net) into v_total from inv_line where inv_no = p_inv;
    if v_total is null or v_total = 0 or p_amount > v_total then
        raise exception -746, 0, 'discount is more than the invoice';
    end if;
    let v_rest = p_amount;
    foreach select pos, net into v_pos, v_net from inv_line where inv_no = p_inv order by pos
        let v_part = round(p_amount * v_net / v_total, 2);
        update inv_line set discount = v_part where inv_no = p_inv and pos = v_pos;
        let v_rest = v_rest - v_part;
    end foreach;
    if v_rest <> 0 then
        select min(pos) into v_largest
          from inv_line
         where inv_no = p_inv
           and net = (select max(net) from inv_line where inv_no = p_inv);
        update inv_line set discount = discount + v_rest where inv_no = p_inv and pos = v_largest;
    end if;
    foreach select pos, discount into v_pos, v_part from inv_line where inv_no = p_inv order by pos
        return v_pos, v_part with resume;
    end foreach;
end procedure;

create function tax_lines(p_inv integer) returning char(1) as code, decimal(12,2) as net, decimal(12,2) as tax;
    define v_code char(1);
    define v_net decimal(12,2);
    define v_pct decimal(5,2);

    foreach
        select l.code, t.pct, sum(l.net - l.discount)
          into v_code, v_pct, v_net
          from inv_line l, tax t
         where l.inv_no = p_inv and t.code = l.code
         group by 1, 2
         order by 1
        return v_code, v_net, round(v_net * v_pct / 100, 2) with resume;
    end foreach;
end function;

create procedure finish_invoice(p_inv integer) returning decimal(12,2), decimal(12,2), decimal(12,2);
    define v_code char(1);
    define v_net, v_tax, v_net_sum, v_tax_sum decimal(12,2);

    let v_net_sum, v_tax_sum = 0, 0;
    foreach execute function tax_lines(p_inv) into v_code, v_net, v_tax
        let v_net_sum = v_net_sum + v_net;
        let v_tax_sum = v_tax_sum + v_tax;
    end foreach;
    update invoice set net = v_net_sum, tax = v_tax_sum where inv_no = p_inv;
    if dbinfo('sqlca.sqlerrd2') = 0 then
        raise exception -746, 0, 'unknown invoice ' || p_inv;
    end if;
    return v_net_sum, v_tax_sum, v_net_sum + v_tax_sum;
end procedure;

CREATE PROCEDURE pay(p_customer VARCHAR(20), p_amount DECIMAL(12,2)) RETURNING INTEGER, DECIMAL(12,2);
    -- Pays the oldest invoices first; returns how many are settled, and what is left of the money.
    DEFINE v_inv, v_settled INTEGER;
    DEFINE v_open, v_left DECIMAL(12,2);

    LET v_left = p_amount;
    LET v_settled = 0;
    FOREACH SELECT inv_no, net + tax - paid
              INTO v_inv, v_open
              FROM invoice
             WHERE customer = p_customer AND net + tax > paid
             ORDER BY due, inv_no
        IF v_left < v_open THEN
            UPDATE invoice SET paid = paid + v_left WHERE inv_no = v_inv;
            LET v_left = 0;
            EXIT FOREACH;
        END IF;
        UPDATE invoice SET paid = net + tax, level = 0 WHERE inv_no = v_inv;
        LET v_left = v_left - v_open;
        LET v_settled = v_settled + 1;
    END FOREACH;
    RETURN v_settled, v_left;
END PROCEDURE;

CREATE PROCEDURE remind(p_date DATE)
    RETURNING INTEGER AS inv_no, SMALLINT AS level, INTEGER AS days, DECIMAL(12,2) AS claim;
    -- One level more for each fortnight, at most 3; a fee from level 2, 8 per cent a year from level 3.
    DEFINE v_inv, v_days INTEGER;
    DEFINE v_level, v_new SMALLINT;
    DEFINE v_open, v_claim DECIMAL(12,2);

    BEGIN WORK;
    FOREACH c_due FOR
        SELECT inv_no, p_date - due, level, net + tax - paid
          INTO v_inv, v_days, v_level, v_open
          FROM invoice
         WHERE due < p_date AND net + tax > paid
           FOR UPDATE
        LET v_new = TRUNC((v_days + 13) / 14);
        IF v_new > 3 THEN
            LET v_new = 3;
        END IF;
        IF v_new <= v_level THEN
            CONTINUE FOREACH;
        END IF;
        LET v_claim = v_open;
        CASE v_new
            WHEN 1 THEN LET v_claim = v_claim + 0;
            WHEN 2 THEN LET v_claim = v_claim + 5;
            WHEN 3 THEN LET v_claim = v_claim + 10 + ROUND(v_open * 8 * v_days / 36500, 2);
        END CASE;
        UPDATE invoice SET level = v_new WHERE CURRENT OF c_due;
        RETURN v_inv, v_new, v_days, v_claim WITH RESUME;
    END FOREACH;
    COMMIT WORK;
END PROCEDURE;

execute procedure begin_invoice('Lindqvist', mdy(9, 1, 2026));
--> 20001|
-- 3 * 33.335 = 100.005, half a cent goes up
execute procedure add_position(20001, 3, 33.335, 'N');
--> 1|100.01|
execute procedure add_position(20001, 1.5, 20, 'R');
--> 2|30.00|
-- 0.333 * 9.99 = 3.32667
execute procedure add_position(20001, 0.333, 9.99, 'N');
--> 3|3.33|
execute procedure add_position(20001, 1, 1, 'Q');
--> error -746, 0, unknown tax code Q
execute procedure add_position(5, 1, 1, 'N');
--> error -746, 0, unknown invoice 5
-- N: 103.34 * 19 % = 19.6346; the lines on their own would be 19.00 + 0.63
execute function tax_lines(20001);
--> N|103.34|19.63|
--> R|30.00|2.10|
execute procedure finish_invoice(20001);
--> 133.34|21.73|155.07|
execute procedure finish_invoice(9);
--> error -746, 0, unknown invoice 9
-- of 133.34: 10 * 100.01 = 7.5004 -> 7.50, 2.2499 -> 2.25, 0.2497 -> 0.25: nothing is left
execute procedure share_discount(20001, 10);
--> 1|7.50|
--> 2|2.25|
--> 3|0.25|
execute procedure share_discount(20001, 133.35);
--> error -746, 0, discount is more than the invoice
-- N: 103.34 - 7.75 = 95.59, 18.1621; R: 27.75, 1.9425
execute procedure finish_invoice(20001);
--> 123.34|20.10|143.44|

execute procedure begin_invoice('Lindqvist', mdy(8, 3, 2026), 14);
--> 20002|
execute procedure add_position(20002, 1, 10, 'Z');
--> 1|10.00|
execute procedure add_position(20002, 1, 10, 'Z');
--> 2|10.00|
execute procedure add_position(20002, 1, 10, 'Z');
--> 3|10.00|
-- a third of 1 is 0.33, three times; the cent goes to the first of the largest
execute procedure share_discount(20002, 1);
--> 1|0.34|
--> 2|0.33|
--> 3|0.33|
execute procedure finish_invoice(20002);
--> 29.00|0.00|29.00|

-- 20001 is due on 1 October, 20002 on 17 August: 45 days, (45 + 13) / 14 = 4.1, at most 3;
-- 29 * 8 * 45 / 36500 = 0.286; 29 + 10 + 0.29
execute procedure remind(mdy(10, 1, 2026));
--> 20002|3|45|39.29|
execute procedure remind(mdy(10, 1, 2026));
--> no rows
-- 14 days are level 1, 15 are level 2
execute procedure remind(mdy(10, 15, 2026));
--> 20001|1|14|143.44|
execute procedure remind(mdy(10, 16, 2026));
--> 20001|2|15|148.44|
-- 29.00 of 100, then 71 of 143.44
execute procedure pay('Lindqvist', 100);
--> 1|0.00|
select inv_no, paid, level from invoice order by inv_no;
--> 20001|71.00|2|
--> 20002|29.00|0|
-- 72.44 are open
execute procedure pay('Lindqvist', 80);
--> 1|7.56|
execute procedure pay('Nobody', 5);
--> 0|5.00|
execute procedure remind(mdy(12, 31, 2026));
--> no rows
delete from invoice where inv_no = 20002;
select count(*) from inv_line;
--> 3|
