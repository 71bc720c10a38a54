-- Monthly bills of a telephone company: fees by days, usage with free units, discounts, taxes by rate, credits, numbers.

create table cust (cust integer primary key, name varchar(20), cycle smallint, credit decimal(10,2) default 0,
                   vat_free char(1) default 'N', stop_to date);
create table contract (con integer primary key, cust integer, product char(4), starts date, ends date);
create table product (product char(4) primary key, fee decimal(8,4), vat decimal(4,2), free_units integer, unit_price decimal(8,4));
create table usage (con integer, day date, units integer, billed integer);
create table discount (cust integer, nr smallint, kind char(1), value decimal(8,2), product char(4), months_left smallint);
create table number_range (kind char(4) primary key, next_no integer, last_no integer);
create table bill (bill integer primary key constraint pk_bill, cust integer, month date, net decimal(12,2),
                   vat decimal(12,2), gross decimal(12,2), credit decimal(10,2), due decimal(12,2),
                   unique (cust, month) constraint uq_bill);
create table bill_line (bill integer, pos smallint, txt varchar(40), net decimal(12,4), vat_pct decimal(4,2));
create table bill_err (cust integer, month date, code integer, text varchar(60));
insert into product values ('FLAT', 31, 20, 0, 0);
insert into product values ('PAYG', 0, 20, 10, 0.1255);
insert into product values ('BOOK', 12.4, 7, null, null);
insert into cust values (1, 'Abbey', 1, 0, 'N', null);
insert into cust values (2, 'Bruno', 1, 50, 'N', null);
insert into cust values (3, 'Chloe', 1, 0, 'Y', null);
insert into cust values (4, 'David', 2, 0, 'N', null);
insert into cust values (5, 'Erika', 1, 0, 'N', mdy(12,31,2026));
insert into cust values (6, 'Felix', 1, 0, 'N', null);
insert into contract values (11, 1, 'FLAT', mdy(1,1,2025), null);
insert into contract values (12, 1, 'BOOK', mdy(5,22,2026), null);
insert into contract values (21, 2, 'PAYG', mdy(1,1,2025), null);
insert into contract values (31, 3, 'FLAT', mdy(1,1,2025), mdy(5,15,2026));
insert into contract values (41, 4, 'FLAT', mdy(1,1,2025), null);
insert into contract values (51, 5, 'FLAT', mdy(1,1,2025), null);
insert into contract values (61, 6, 'XXXX', mdy(1,1,2025), null);
insert into usage values (21, mdy(4,30,2026), 5, 700);
insert into usage values (21, mdy(5,2,2026), 8, null);
insert into usage values (21, mdy(5,30,2026), 103, null);
insert into usage values (21, mdy(6,1,2026), 1000, null);
insert into discount values (1, 1, 'P', 10, 'FLAT', 2);
insert into discount values (1, 2, 'A', 1.5, null, 1);
insert into discount values (2, 1, 'A', 20, null, null);
insert into number_range values ('BILL', 1001, 1003);

CREATE FUNCTION next_number (p_kind CHAR(4)) RETURNING INTEGER;
   -- Without gaps: part of the caller's transaction. The row stays locked to its end.
   DEFINE v_no, v_last INTEGER;
   UPDATE number_range SET next_no = next_no + 1 WHERE kind = p_kind;
   IF DBINFO('sqlca.sqlerrd2') = 0 THEN
      RAISE EXCEPTION -746, 1, 'no range ' || p_kind;
   END IF;
   SELECT next_no - 1, last_no INTO v_no, v_last FROM number_range WHERE kind = p_kind;
   IF v_no > v_last THEN
      RAISE EXCEPTION -746, 2, 'range ' || TRIM(p_kind) || ' is used up';
   END IF;
   RETURN v_no;
END FUNCTION;

create procedure bill_add (p_bill integer, inout p_pos smallint, p_txt varchar(40), p_net decimal(12,4), p_vat decimal(4,2))
   if p_net <> 0 then
      let p_pos = p_pos + 1;
      insert into bill_line values (p_bill, p_pos, p_txt, p_net, p_vat);
   end if;
end procedure;

CREATE PROCEDURE bill_run (p_month DATE, p_cycle SMALLINT, p_reprint BOOLEAN DEFAULT 'f')
   RETURNING INTEGER AS bill, VARCHAR(20) AS name, DECIMAL(12,2) AS net, DECIMAL(12,2) AS vat, DECIMAL(12,2) AS due;

   --=========================================================================
   -- Bills of a cycle for a month, given by any day of it
   --   fees      by calendar days in which the contract was valid
   --   usage     of the month and what was not billed before, less free units
   --   discounts P per cent of a product's fee, A an amount off the net sum,
   --             which is never below 0; for as many months as it says
   --   VAT       rounded once a rate; some customers pay none
   --   credit    is used up to the gross amount
   -- A customer without anything to pay gets no bill. Each is a transaction.
   -- p_reprint: what was billed before is returned, too.
   --=========================================================================
   DEFINE GLOBAL g_billed INTEGER DEFAULT 0;

   DEFINE v_from, v_to               DATE;
   DEFINE v_first, v_past            DATE;
   DEFINE v_days, v_len, v_pos       SMALLINT;
   DEFINE v_cust, v_con, v_bill      INTEGER;
   DEFINE v_name                     VARCHAR(20);
   DEFINE v_credit, v_use            DECIMAL(10,2);
   DEFINE v_free                     CHAR(1);
   DEFINE v_stop                     DATE;
   DEFINE v_product                  CHAR(4);
   DEFINE v_fee, v_price             DECIMAL(8,4);
   DEFINE v_pct                      DECIMAL(4,2);
   DEFINE v_units, v_free_units      INTEGER;
   DEFINE v_net, v_vat, v_due        DECIMAL(12,2);
   DEFINE v_part                     DECIMAL(12,4);
   DEFINE v_kind                     CHAR(1);
   DEFINE v_value                    DECIMAL(8,2);
   DEFINE v_nr                       SMALLINT;
   DEFINE v_for                      CHAR(4);
   DEFINE v_sum                      DECIMAL(14,4);
   DEFINE e1, e2                     INTEGER;
   DEFINE e3                         VARCHAR(60);

   LET v_from = MDY(MONTH(p_month), 1, YEAR(p_month));
   LET v_to   = v_from + 1 UNITS MONTH;
   LET v_len  = v_to - v_from;

   FOREACH c_cust WITH HOLD FOR
      SELECT cust, name, credit, vat_free, stop_to
        INTO v_cust, v_name, v_credit, v_free, v_stop
        FROM cust WHERE cycle = p_cycle ORDER BY cust

      IF v_stop >= v_from THEN CONTINUE FOREACH; END IF;         -- NULL: not stopped
      LET v_bill = NULL;
      SELECT bill, net, vat, due INTO v_bill, v_net, v_vat, v_due
        FROM bill WHERE cust = v_cust AND month = v_from;
      IF v_bill IS NOT NULL THEN
         IF p_reprint THEN
            RETURN v_bill, v_name || ' (again)', v_net, v_vat, v_due WITH RESUME;
         END IF;
         CONTINUE FOREACH;
      END IF;

      BEGIN WORK;
      BEGIN
         ON EXCEPTION SET e1, e2, e3
            ROLLBACK WORK;
            INSERT INTO bill_err VALUES (v_cust, v_from, e1, e2 || ' ' || e3);
            CONTINUE FOREACH;
         END EXCEPTION;

         LET v_bill = next_number('BILL');
         LET v_pos = 0;

         -- fees and usage
         FOREACH
            SELECT c.con, c.product, c.starts, NVL(c.ends + 1, v_to), p.fee, p.vat, p.free_units, p.unit_price
              INTO v_con, v_product, v_first, v_past, v_fee, v_pct, v_free_units, v_price
              FROM contract c, OUTER product p
             WHERE c.cust = v_cust AND p.product = c.product
               AND c.starts < v_to AND (c.ends IS NULL OR c.ends >= v_from)
             ORDER BY c.con

            IF v_pct IS NULL THEN
               RAISE EXCEPTION -746, v_con, 'no product ' || v_product;
            END IF;
            IF v_first < v_from THEN LET v_first = v_from; END IF;
            IF v_past  > v_to   THEN LET v_past  = v_to;   END IF;
            LET v_days = v_past - v_first;
            LET v_part = v_fee * v_days / v_len;
            CALL bill_add(v_bill, v_pos, 'fee ' || v_product || ' ' || v_days || '/' || v_len, v_part, v_pct);

            FOREACH SELECT nr, value INTO v_nr, v_value FROM discount
                     WHERE cust = v_cust AND kind = 'P' AND product = v_product AND NVL(months_left, 1) > 0
               CALL bill_add(v_bill, v_pos, 'discount ' || v_nr, -v_part * v_value / 100, v_pct);
            END FOREACH;

            IF v_price > 0 THEN
               UPDATE usage SET billed = v_bill WHERE con = v_con AND billed IS NULL AND day < v_to;
               SELECT NVL(SUM(units), 0) INTO v_units FROM usage WHERE con = v_con AND billed = v_bill;
               IF v_units > v_free_units THEN
                  CALL bill_add(v_bill, v_pos, 'usage ' || v_units || ' - ' || v_free_units,
                                (v_units - v_free_units) * v_price, v_pct);
               END IF;
            END IF;
         END FOREACH;

         -- amounts off the sum, at the rate of the first line
         FOREACH SELECT nr, value INTO v_nr, v_value FROM discount
                  WHERE cust = v_cust AND kind = 'A' AND NVL(months_left, 1) > 0 ORDER BY nr
            SELECT NVL(SUM(net), 0), MIN(vat_pct) INTO v_sum, v_pct FROM bill_line WHERE bill = v_bill;
            LET v_part = v_value;
            IF v_part > v_sum THEN LET v_part = v_sum; END IF;
            SELECT vat_pct INTO v_pct FROM bill_line WHERE bill = v_bill AND pos = 1;
            CALL bill_add(v_bill, v_pos, 'discount ' || v_nr, -v_part, v_pct);
         END FOREACH;
         UPDATE discount SET months_left = months_left - 1 WHERE cust = v_cust AND months_left > 0;

         -- sums
         LET v_net, v_vat = 0, 0;
         FOREACH SELECT vat_pct, ROUND(SUM(net), 2) INTO v_pct, v_sum FROM bill_line
                  WHERE bill = v_bill GROUP BY vat_pct
            LET v_net = v_net + v_sum;
            IF v_free <> 'Y' THEN
               LET v_vat = v_vat + ROUND(v_sum * v_pct / 100, 2);
            END IF;
         END FOREACH;
         IF v_net = 0 THEN
            ROLLBACK WORK;                       -- the number as well
            CONTINUE FOREACH;
         END IF;
         LET v_use = v_credit;
         IF v_use > v_net + v_vat THEN LET v_use = v_net + v_vat; END IF;
         LET v_due = v_net + v_vat - v_use;
         INSERT INTO bill VALUES (v_bill, v_cust, v_from, v_net, v_vat, v_net + v_vat, v_use, v_due);
         UPDATE cust SET credit = credit - v_use WHERE cust = v_cust;
      END;
      COMMIT WORK;
      LET g_billed = g_billed + 1;
      RETURN v_bill, v_name, v_net, v_vat, v_due WITH RESUME;
   END FOREACH;
END PROCEDURE;

-- Abbey: 31.00 less 10 per cent; 12.4 * 10 / 31 = 4.00; less 1.50: 27.90 - 1.50 = 26.40 at 20, 4.00 at 7 per cent: 5.28 + 0.28
-- Bruno: 8 + 103 - 10 units of 0.1255 = 12.6755, less 20, at most 12.6755: nothing to pay
-- Chloe: 15 days, no VAT; David: another cycle; Erika: stopped; Felix: no product
execute procedure bill_run(mdy(5,20,2026), 1);
--> 1001|Abbey|30.40|5.56|35.96|
--> 1002|Chloe|15.00|0.00|15.00|
select pos, txt, net, vat_pct from bill_line where bill = 1001 order by pos;
--> 1|fee FLAT 31/31|31.0000|20.00|
--> 2|discount 1|-3.1000|20.00|
--> 3|fee BOOK 10/31|4.0000|7.00|
--> 4|discount 2|-1.5000|20.00|
select cust, code, text from bill_err;
--> 6|-746|61 no product XXXX|
select count(*) from usage where billed is null;
--> 3|
-- Bruno without his discount: 12.6755 is 12.68, VAT 2.54; 50.00 of credit pay 15.22
delete from discount where cust = 2;
delete from contract where con = 61;
execute procedure bill_run(mdy(5,1,2026), 1, 't');
--> 1001|Abbey (again)|30.40|5.56|35.96|
--> 1003|Bruno|12.68|2.54|0.00|
--> 1002|Chloe (again)|15.00|0.00|15.00|
select credit from cust where cust = 2;
--> 34.78|
-- all numbers are used
execute procedure bill_run(mdy(5,31,2026), 2);
--> no rows
select cust, text from bill_err where cust = 4;
--> 4|2 range BILL is used up|
update number_range set last_no = 1999 where kind = 'BILL';
execute procedure bill_run(mdy(5,31,2026), 2);
--> 1004|David|31.00|6.20|37.20|
-- June: Abbey's second discount is over, the first one is for the last time; 12.40: 27.90 * 20, 12.40 * 7 per cent
-- Bruno: 990 * 0.1255 = 124.245, VAT 24.85 (124.25 * 20 per cent), 149.10 - 34.78; Chloe has left
execute procedure bill_run(mdy(6,1,2026), 1);
--> 1005|Abbey|40.30|6.45|46.75|
--> 1006|Bruno|124.25|24.85|114.32|
select cust, nr, months_left from discount order by 1, 2;
--> 1|1|0|
--> 1|2|0|
