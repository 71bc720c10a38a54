-- Dunning: levels by days overdue, fees, interest for delay, customers who are spared, letters.

CREATE TABLE debtor (debtor INTEGER PRIMARY KEY, name VARCHAR(30), lang CHAR(1), blocked_to DATE, credit DECIMAL(10,2));
CREATE TABLE inv (inv INTEGER PRIMARY KEY, debtor INTEGER, due DATE, amount DECIMAL(10,2), paid DECIMAL(10,2),
                  lvl SMALLINT DEFAULT 0, last_dun DATE, dispute CHAR(1));
CREATE TABLE dun_level (lvl SMALLINT, days SMALLINT, fee DECIMAL(6,2), pct DECIMAL(5,3), title CHAR(20));
CREATE TABLE dun (dun SERIAL, run DATE, debtor INTEGER, inv INTEGER, lvl SMALLINT, open DECIMAL(10,2),
                  fee DECIMAL(6,2), interest DECIMAL(8,2));
INSERT INTO dun_level VALUES (1, 10, 0, 0, 'Reminder');
INSERT INTO dun_level VALUES (2, 24, 5, 9.125, 'Second reminder');
INSERT INTO dun_level VALUES (3, 38, 10, 9.125, 'Last notice');
INSERT INTO debtor VALUES (1, 'Abel & Sons', 'E', NULL, 0);
INSERT INTO debtor VALUES (2, 'Boat Yard', 'E', NULL, 30);
INSERT INTO debtor VALUES (3, 'Cook', 'E', MDY(7, 31, 2026), 0);
INSERT INTO debtor VALUES (4, 'Dale', 'E', NULL, 0);
INSERT INTO inv VALUES (11, 1, MDY(6, 20, 2026), 400.00, 0, 0, NULL, NULL);
INSERT INTO inv VALUES (12, 1, MDY(5, 1, 2026), 1000.00, 200.00, 1, MDY(6, 1, 2026), NULL);
INSERT INTO inv VALUES (13, 1, MDY(4, 1, 2026), 50.00, 0, 2, MDY(6, 26, 2026), NULL);
INSERT INTO inv VALUES (14, 1, MDY(4, 1, 2026), 70.00, 0, 1, MDY(5, 1, 2026), 'Y');
INSERT INTO inv VALUES (15, 1, MDY(6, 22, 2026), 70.00, 0, 0, NULL, NULL);
INSERT INTO inv VALUES (21, 2, MDY(5, 2, 2026), 25.00, NULL, 1, MDY(6, 1, 2026), NULL);
INSERT INTO inv VALUES (22, 2, MDY(5, 2, 2026), 105.00, 20, 2, MDY(6, 1, 2026), NULL);
INSERT INTO inv VALUES (31, 3, MDY(1, 1, 2026), 900.00, 0, 2, MDY(3, 1, 2026), NULL);
INSERT INTO inv VALUES (41, 4, MDY(1, 1, 2026), 2.00, 0, 0, NULL, NULL);

CREATE PROCEDURE dunning_run (p_run DATE, p_min DECIMAL(8,2) DEFAULT 5.00, p_test CHAR(1) DEFAULT 'N')
   RETURNING INTEGER AS debtor, INTEGER AS inv, SMALLINT AS lvl, DECIMAL(10,2) AS open,
             DECIMAL(6,2) AS fee, DECIMAL(8,2) AS interest;

   -- rules
   --   * one level at a time, at least seven days after the last one
   --   * a debtor's credit pays the oldest invoices first
   --   * the fee is charged once a debtor, that of the highest level
   --   * interest: actual days / 365, since the due date, never less than 0.01
   -- p_test = 'Y': nothing is written
   DEFINE d_no, d_last, i_no        INTEGER;
   DEFINE i_due, i_last, d_block    DATE;
   DEFINE i_amt, i_paid, d_credit   DECIMAL(10,2);
   DEFINE v_open, v_used            DECIMAL(10,2);
   DEFINE i_lvl, v_lvl, v_top       SMALLINT;
   DEFINE v_days, v_need            SMALLINT;
   DEFINE v_fee                     DECIMAL(6,2);
   DEFINE v_pct                     DECIMAL(5,3);
   DEFINE v_int                     DECIMAL(8,2);
   DEFINE i_disp                    CHAR(1);

   IF EXISTS (SELECT * FROM dun WHERE run >= p_run) THEN
      RAISE EXCEPTION -746, 0, 'a run of ' || p_run || ' or later exists';
   END IF;

   FOREACH
      SELECT debtor, blocked_to, credit INTO d_no, d_block, d_credit
        FROM debtor
       ORDER BY debtor

      CONTINUE FOREACH WHEN d_block >= p_run;

      -- the highest level of this debtor in this run decides about the fee
      LET v_top = 0;
      DROP TABLE IF EXISTS t_dun;
      CREATE TEMP TABLE t_dun (inv INTEGER, lvl SMALLINT, open DECIMAL(10,2), interest DECIMAL(8,2)) WITH NO LOG;

      FOREACH
         SELECT inv, due, amount, NVL(paid, 0), NVL(lvl, 0), last_dun, NVL(dispute, 'N')
           INTO i_no, i_due, i_amt, i_paid, i_lvl, i_last, i_disp
           FROM inv
          WHERE debtor = d_no
            AND amount > NVL(paid, 0)
            AND due < p_run
          ORDER BY due, inv

         LET v_open = i_amt - i_paid;
         IF i_disp = 'Y' THEN
            CONTINUE FOREACH;
         END IF;
         IF d_credit > 0 THEN                     { credit first }
            LET v_used = v_open;
            IF v_used > d_credit THEN LET v_used = d_credit; END IF;
            LET d_credit = d_credit - v_used;
            LET v_open   = v_open - v_used;
         END IF;
         CONTINUE FOREACH WHEN v_open < p_min;
         CONTINUE FOREACH WHEN i_last + 7 > p_run;

         LET v_lvl = i_lvl + 1;
         SELECT days, pct INTO v_need, v_pct FROM dun_level WHERE lvl = v_lvl;
         IF SQLCODE = 100 THEN
            CONTINUE FOREACH;                     { the lawyer has it }
         END IF;
         LET v_days = p_run - i_due;
         IF v_days < v_need THEN
            CONTINUE FOREACH;
         END IF;

         LET v_int = ROUND(v_open * v_pct * v_days / 36500, 2);
         IF v_int < 0.01 AND v_pct > 0 THEN
            LET v_int = 0.01;
         END IF;
         INSERT INTO t_dun VALUES (i_no, v_lvl, v_open, v_int);
         IF v_lvl > v_top THEN LET v_top = v_lvl; END IF;
      END FOREACH;

      LET v_fee = NVL((SELECT fee FROM dun_level WHERE lvl = v_top), 0);
      FOREACH SELECT inv, lvl, open, interest INTO i_no, v_lvl, v_open, v_int
                FROM t_dun ORDER BY lvl DESC, inv
         IF p_test <> 'Y' THEN
            INSERT INTO dun VALUES (0, p_run, d_no, i_no, v_lvl, v_open, v_fee, v_int);
            UPDATE inv SET lvl = v_lvl, last_dun = p_run WHERE inv = i_no;
         END IF;
         RETURN d_no, i_no, v_lvl, v_open, v_fee, v_int WITH RESUME;
         LET v_fee = 0;
      END FOREACH;
   END FOREACH;
   DROP TABLE IF EXISTS t_dun;
END PROCEDURE;

create procedure dun_letter (p_run date, p_debtor integer)
   returning varchar(60) as line;
   -- the text of a letter, line by line

   define v_name varchar(30);
   define v_title like dun_level.title;
   define v_lvl, v_n smallint;
   define v_inv integer;
   define v_due date;
   define v_open, v_sum decimal(10,2);
   define v_fee decimal(6,2);
   define v_int decimal(8,2);
   define v_line varchar(60);
   define i smallint;

   select max(lvl), count(*), sum(open + fee + interest)
     into v_lvl, v_n, v_sum
     from dun
    where run = p_run and debtor = p_debtor;
   if v_n = 0 then
      return;
   end if;

   select name into v_name from debtor where debtor = p_debtor;
   let v_title = (select title from dun_level where lvl = v_lvl);
   return "To: " || upper(v_name) with resume;
   return trim(v_title) || " of " || to_char(p_run, "%d %B %Y") with resume;

   let v_line = "";
   for i = 1 to 40
      let v_line = v_line || "-";
   end for;
   return v_line with resume;

   foreach
      select d.inv, i.due, d.open, d.fee, d.interest
        into v_inv, v_due, v_open, v_fee, v_int
        from dun d, inv i
       where d.run = p_run and d.debtor = p_debtor and i.inv = d.inv
       order by i.due, d.inv
      let v_line = rpad("Invoice " || v_inv, 14, ".") || " " || to_char(v_due, "%m/%d/%y")
                || lpad(v_open::varchar(12), 12) || case when v_int > 0 then " *" else " -" end;
      return v_line with resume;
      if v_fee > 0 then
         return rpad("Fee", 23, ".") || lpad(v_fee, 12) with resume;
      end if;
   end foreach;

   let v_sum = v_sum + 0.00;
   return rpad("Sum", 23) || lpad("" || v_sum, 12) with resume;
   if v_lvl >= 3 then
      return "Our lawyers will write the next letter." with resume;
   end if;
end procedure;

-- 1 July 2026. 11: 11 days; 12: 61 days, 800 * 9.125 * 61 / 36500 = 12.20; 13: the last one is 5 days ago;
-- 14 is in dispute; 15: 9 days. 21: paid by the credit of 30; 22: 85 - 5 = 80, 60 days, 80 * 9.125 * 60 / 36500 = 1.20;
-- 3 is spared; 41 is below the minimum
execute procedure dunning_run(mdy(7, 1, 2026), p_test = 'Y');
--> 1|12|2|800.00|5.00|12.20|
--> 1|11|1|400.00|0.00|0.00|
--> 2|22|3|80.00|10.00|1.20|
select count(*) from dun;
--> 0|
execute procedure dunning_run(mdy(7, 1, 2026));
--> 1|12|2|800.00|5.00|12.20|
--> 1|11|1|400.00|0.00|0.00|
--> 2|22|3|80.00|10.00|1.20|
execute procedure dunning_run(mdy(7, 1, 2026));
--> error -746, 0, a run of 07/01/2026 or later exists
-- 800 + 5 + 12.20 + 400
execute procedure dun_letter(mdy(7, 1, 2026), 1);
--> To: ABEL & SONS|
--> Second reminder of 01 July 2026|
--> ----------------------------------------|
--> Invoice 12.... 05/01/26      800.00 *|
--> Fee....................        5.00|
--> Invoice 11.... 06/20/26      400.00 -|
--> Sum                         1217.20|
execute procedure dun_letter(mdy(7, 1, 2026), 2);
--> To: BOAT YARD|
--> Last notice of 01 July 2026|
--> ----------------------------------------|
--> Invoice 22.... 05/02/26       80.00 *|
--> Fee....................       10.00|
--> Sum                           91.20|
--> Our lawyers will write the next letter.|
execute procedure dun_letter(mdy(7, 1, 2026), 3);
--> no rows
-- 41 with another minimum: 219 days, 2 * 0 %; 13: level 3, 50 * 9.125 * 128 / 36500 = 1.60; 15: 46 days
-- 3 is free again: 31 has 218 days: 900 * 9.125 * 218 / 36500 = 49.05; 11: 400 * 9.125 * 48 / 36500 = 4.80
-- 12: 800 * 9.125 * 98 / 36500 = 19.60; 22 has no next level
execute procedure dunning_run(mdy(8, 7, 2026), 1);
--> 1|12|3|800.00|10.00|19.60|
--> 1|13|3|50.00|0.00|1.60|
--> 1|11|2|400.00|0.00|4.80|
--> 1|15|1|70.00|0.00|0.00|
--> 3|31|3|900.00|10.00|49.05|
--> 4|41|1|2.00|0.00|0.00|
