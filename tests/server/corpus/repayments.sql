-- Loans that are paid back: a payment is spread over what is due, too much goes to the principal, a plan is made anew.

create table mortgage (loan char(6) primary key, principal decimal(12,2), pct decimal(6,3), instal decimal(10,2),
                       due_day smallint, paid_to date, unapplied decimal(10,2) default 0, state char(1) default 'A');
create table due (loan char(6), due_on date, kind char(1), amt decimal(10,2), open decimal(10,2),
                  primary key (loan, due_on, kind) constraint pk_due);
create table paid (nr serial, loan char(6), on_day date, amt decimal(10,2), applied lvarchar(200));
create table plan (loan char(6), nr smallint, due_on date, interest decimal(10,2), repay decimal(10,2), rest decimal(12,2));
-- kinds: C costs, L late interest, I interest, P principal; each day is worked off in this order
create table waterfall (kind char(1), prio smallint, name varchar(12));
insert into waterfall values ('C', 1, 'costs');
insert into waterfall values ('L', 2, 'late');
insert into waterfall values ('I', 3, 'interest');
insert into waterfall values ('P', 4, 'principal');
insert into mortgage values ('M-1', 12000, 6, 500, 31, mdy(1,31,2026), 0, 'A');
insert into mortgage values ('M-2', 1000, 12, 400, 15, mdy(1,15,2026), 0, 'A');
insert into mortgage values ('M-3', 1000, 12, 5, 15, mdy(1,15,2026), 0, 'A');

create function due_date (p_year smallint, p_month smallint, p_day smallint) returning date with (not variant);
  -- the day of a month, or its last day; months beyond December are those of the next years
  define y, m smallint;
  define d date;
  let y = p_year + trunc((p_month - 1) / 12);
  let m = mod(p_month - 1, 12) + 1;
  if m = 12 then
    let d = mdy(12, 31, y);
  else
    let d = mdy(m + 1, 1, y) - 1;
  end if
  if day(d) > p_day then
    let d = mdy(m, p_day, y);
  end if
  return d;
end function;

CREATE PROCEDURE make_plan (p_loan CHAR(6), p_most SMALLINT DEFAULT 400)
       RETURNING SMALLINT AS instalments, DATE AS last, DECIMAL(12,2) AS interest;

   { The plan from the day to which a loan is paid. Interest is monthly, a twelfth of the year's;
     the last instalment is what is left. A loan whose instalment does not pay its interest has no end. }

   DEFINE v_rest, v_all         DECIMAL(12,2);
   DEFINE v_instal, v_int, v_rep DECIMAL(10,2);
   DEFINE v_pct                 DECIMAL(6,3);
   DEFINE v_day, v_nr, v_base   SMALLINT;
   DEFINE v_from, v_due         DATE;
   DEFINE v_state               CHAR(1);

   SELECT principal, pct, instal, due_day, paid_to, state
     INTO v_rest, v_pct, v_instal, v_day, v_from, v_state
     FROM mortgage
    WHERE loan = p_loan;
   IF v_from IS NULL OR v_state <> 'A' THEN
      RAISE EXCEPTION -746, 0, 'loan ' || TRIM(p_loan) || ' is not active';
   END IF;

   DELETE FROM plan WHERE loan = p_loan;
   LET v_nr, v_all = 0, 0;
   LET v_base = MONTH(v_from);
   LET v_due = v_from;
   WHILE v_rest > 0
      LET v_nr = v_nr + 1;
      LET v_int = ROUND(v_rest * v_pct / 1200, 2);
      IF v_int >= v_instal OR v_nr > p_most THEN
         DELETE FROM plan WHERE loan = p_loan;
         RAISE EXCEPTION -746, v_nr, 'the plan of ' || TRIM(p_loan) || ' has no end';
      END IF;
      LET v_rep = v_instal - v_int;
      IF v_rep > v_rest THEN
         LET v_rep = v_rest;
      END IF;
      LET v_rest = v_rest - v_rep;
      LET v_due = due_date(YEAR(v_from), v_base + v_nr, v_day);
      INSERT INTO plan VALUES (p_loan, v_nr, v_due, v_int, v_rep, v_rest);
      LET v_all = v_all + v_int;
   END WHILE;
   RETURN v_nr, v_due, v_all;
END PROCEDURE;

CREATE PROCEDURE post_payment (p_loan CHAR(6), p_day DATE, p_amt DECIMAL(10,2), p_extra CHAR(1) DEFAULT 'R')
  RETURNING LVARCHAR(200) AS applied, DECIMAL(12,2) AS principal, DECIMAL(10,2) AS unapplied, SMALLINT AS instalments;
  ------------------------------------------------------------------------------------
  -- 1. what became due since the last payment is taken from the plan into DUE
  -- 2. late interest: 12 per cent a year, actual days / 360, on interest and principal
  --    that is open, from its due day to the payment; computed anew with each payment
  -- 3. the payment, with what was left of earlier ones, is spread: oldest day first,
  --    within a day as WATERFALL says
  -- 4. the rest: p_extra 'R' reduces the principal if nothing is open, and the plan is
  --    made anew; 'K' keeps it for the next time
  -- Everything or nothing.
  ------------------------------------------------------------------------------------
  DEFINE v_left, v_open, v_take  DECIMAL(10,2);
  DEFINE v_late, v_unapplied     DECIMAL(10,2);
  DEFINE v_principal             DECIMAL(12,2);
  DEFINE v_due, v_day, v_to      DATE;
  DEFINE v_kind, v_state         CHAR(1);
  DEFINE v_name                  VARCHAR(12);
  DEFINE v_text                  LVARCHAR(200);
  DEFINE v_int, v_rep            DECIMAL(10,2);
  DEFINE v_n, v_nr               SMALLINT;
  DEFINE v_last                  DATE;
  DEFINE v_sum                   DECIMAL(12,2);
  DEFINE e1, e2                  INTEGER;
  DEFINE e3                      VARCHAR(70);

  ON EXCEPTION SET e1, e2, e3
    ROLLBACK WORK TO SAVEPOINT before_payment;
    COMMIT WORK;
    RAISE EXCEPTION e1, e2, e3;
  END EXCEPTION

  BEGIN WORK;
  SAVEPOINT before_payment UNIQUE;
  IF p_amt IS NULL OR p_amt <= 0 THEN
    RAISE EXCEPTION -746, 0, 'amount ' || NVL(p_amt::VARCHAR(12), 'missing');
  END IF
  SELECT principal, unapplied, paid_to, state INTO v_principal, v_unapplied, v_to, v_state
    FROM mortgage WHERE loan = p_loan;
  IF NVL(v_state, '?') <> 'A' THEN
    RAISE EXCEPTION -746, 0, 'loan ' || TRIM(p_loan) || ' is not active';
  END IF

  -- 1
  LET v_n = 0;
  FOREACH SELECT nr, due_on, interest, repay INTO v_nr, v_due, v_int, v_rep
            FROM plan WHERE loan = p_loan AND due_on > v_to AND due_on <= p_day ORDER BY nr
    INSERT INTO due VALUES (p_loan, v_due, 'I', v_int, v_int);
    INSERT INTO due VALUES (p_loan, v_due, 'P', v_rep, v_rep);
    LET v_to = v_due;
    LET v_n = v_n + 1;
  END FOREACH
  IF v_n > 0 THEN
    UPDATE mortgage SET paid_to = v_to WHERE loan = p_loan;
  END IF

  -- 2
  DELETE FROM due WHERE loan = p_loan AND kind = 'L' AND open = amt;
  FOREACH
    SELECT due_on, SUM(open) INTO v_day, v_open
      FROM due
     WHERE loan = p_loan AND kind IN ('I', 'P') AND open > 0 AND due_on < p_day
     GROUP BY due_on
    LET v_late = ROUND(v_open * 12 * (p_day - v_day) / 36000, 2);
    IF v_late > 0 THEN
      MERGE INTO due d USING (SELECT p_loan AS loan, v_day AS day, v_late AS amt FROM sysmaster:sysdual) s
         ON d.loan = s.loan AND d.due_on = s.day AND d.kind = 'L'
       WHEN MATCHED THEN UPDATE SET d.amt = d.amt + s.amt, d.open = d.open + s.amt
       WHEN NOT MATCHED THEN INSERT VALUES (s.loan, s.day, 'L', s.amt, s.amt);
    END IF
  END FOREACH

  -- 3
  LET v_left = p_amt + v_unapplied;
  LET v_text = '';
  FOREACH c_due FOR
    SELECT d.due_on, d.kind, d.open, w.name INTO v_day, v_kind, v_open, v_name
      FROM due d, waterfall w
     WHERE d.loan = p_loan AND d.open > 0 AND w.kind = d.kind
     ORDER BY d.due_on, w.prio
    EXIT FOREACH WHEN v_left = 0;
    LET v_take = CASE WHEN v_left < v_open THEN v_left ELSE v_open END;
    UPDATE due SET open = open - v_take WHERE loan = p_loan AND due_on = v_day AND kind = v_kind;
    IF v_kind = 'P' THEN
      LET v_principal = v_principal - v_take;
    END IF
    LET v_left = v_left - v_take;
    LET v_text = v_text || v_name || ' ' || TO_CHAR(v_day, '%m/%d') || ' ' || v_take || ', ';
  END FOREACH

  -- 4
  LET v_n = NULL;
  SELECT SUM(open) INTO v_sum FROM due WHERE loan = p_loan;
  IF v_left > 0 AND v_principal > 0 AND NVL(v_sum, 0) = 0 AND p_extra = 'R' THEN
    LET v_take = v_left;
    IF v_take > v_principal THEN LET v_take = v_principal; END IF
    LET v_principal = v_principal - v_take;
    LET v_left = v_left - v_take;
    LET v_text = v_text || 'extra ' || v_take || ', ';
  END IF
  UPDATE mortgage SET (principal, unapplied) = (v_principal, v_left) WHERE loan = p_loan;
  IF v_principal = 0 THEN
    UPDATE mortgage SET state = 'C' WHERE loan = p_loan;
    DELETE FROM plan WHERE loan = p_loan;
    LET v_n = 0;
  ELIF v_text LIKE '%extra%' THEN
    CALL make_plan(p_loan) RETURNING v_n, v_last, v_sum;
  END IF
  LET v_text = SUBSTR(v_text, 1, CHAR_LENGTH(v_text) - 2);
  INSERT INTO paid VALUES (0, p_loan, p_day, p_amt, v_text);
  COMMIT WORK;
  RETURN v_text, v_principal, v_left, v_n;
END PROCEDURE
DOCUMENT 'post_payment (loan, day, amount, R or K)', 'Spreads a payment over what is due';

select due_date(2026, 2, 31), due_date(2026, 14, 30), due_date(2028, 2, 30), due_date(2026, 12, 15), due_date(2026, 25, 1)
  from sysmaster:sysdual;
--> 2026-02-28|2027-02-28|2028-02-29|2026-12-15|2028-01-01|
-- 1000: interest 10.00, 390.00; 610: 6.10, 393.90; 216.10: 2.16, 216.10
execute procedure make_plan('M-2');
--> 3|2026-04-15|18.26|
select nr, due_on, interest, repay, rest from plan where loan = 'M-2' order by nr;
--> 1|2026-02-15|10.00|390.00|610.00|
--> 2|2026-03-15|6.10|393.90|216.10|
--> 3|2026-04-15|2.16|216.10|0.00|
execute procedure make_plan('M-3');
--> error -746, 1, the plan of M-3 has no end
-- four months of 12000 at 6 per cent: 60.00, 57.80, 55.59, 53.37; more than two are not allowed
execute procedure make_plan('M-1', 2);
--> error -746, 3, the plan of M-1 has no end
select count(*) from plan where loan = 'M-1';
--> 0|
execute procedure post_payment('M-2', mdy(2,15,2026), 0);
--> error -746, 0, amount 0.00
execute procedure post_payment('M-9', mdy(2,15,2026), 1);
--> error -746, 0, loan M-9 is not active
-- on the day: 10.00 of interest, 290.00 of 390.00
execute procedure post_payment('M-2', mdy(2,15,2026), 300);
--> interest 02/15 10.00, principal 02/15 290.00|710.00|0.00||
-- 30 days late: 100.00 * 12 * 30 / 36000 = 1.00; then 15 March (2 days): 400.00 * 12 * 2 / 36000 = 0.27
execute procedure post_payment('M-2', mdy(3,17,2026), 250);
--> late 02/15 1.00, principal 02/15 100.00, late 03/15 0.27, interest 03/15 6.10, principal 03/15 142.63|467.37|0.00||
select due_on, kind, amt, open from due where loan = 'M-2' and open > 0;
--> 2026-03-15|P|393.90|251.27|
-- 251.27 * 12 * 12 / 36000 = 1.01; the rest of 47.72 reduces 216.10 to 168.38: one instalment with 1.68 on 15 April
execute procedure post_payment('M-2', mdy(3,27,2026), 300);
--> late 03/15 1.01, principal 03/15 251.27, extra 47.72|168.38|0.00|1|
select nr, due_on, interest, repay, rest from plan where loan = 'M-2';
--> 1|2026-04-15|1.68|168.38|0.00|
-- kept: 50.00 for the next time; then 1.68 + 168.38 = 170.06 of 170.17
execute procedure post_payment('M-2', mdy(4,1,2026), 50, 'K');
--> |168.38|50.00||
execute procedure post_payment('M-2', mdy(4,15,2026), 120.17);
--> interest 04/15 1.68, principal 04/15 168.38|0.00|0.11|0|
execute procedure post_payment('M-2', mdy(4,16,2026), 1);
--> error -746, 0, loan M-2 is not active
select nr, amt from paid order by nr;
--> 1|300.00|
--> 2|250.00|
--> 3|300.00|
--> 4|50.00|
--> 5|120.17|
