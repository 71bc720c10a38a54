-- Account statements: pages with headers and carried sums, nested loops, one routine's rows in another, exports.

create table holder (cust integer primary key, name varchar(30), lang char(2));
create table acc (acc integer primary key, cust integer, ccy char(3), kind char(1));
create table entry (entry serial, acc integer, booked date, value_day date, amt decimal(12,2), txt varchar(24));
create table fx (ccy char(3), day date, rate decimal(12,6));
insert into holder values (1, 'Mina Olsen', 'no');
insert into holder values (2, 'Piet de Wit', 'nl');
insert into holder values (3, 'No Accounts', 'en');
insert into acc values (100, 1, 'NOK', 'C');
insert into acc values (101, 1, 'EUR', 'S');
insert into acc values (200, 2, 'EUR', 'C');
insert into entry values (0, 100, mdy(2,27,2026), mdy(3,2,2026), 500, 'Opening');
insert into entry values (0, 100, mdy(3,2,2026), mdy(3,2,2026), -120.5, 'Card 0001');
insert into entry values (0, 100, mdy(3,2,2026), mdy(3,3,2026), -79.5, 'Card 0002');
insert into entry values (0, 100, mdy(3,9,2026), mdy(3,9,2026), 1000, 'Salary');
insert into entry values (0, 100, mdy(3,10,2026), mdy(3,10,2026), -1350, 'Rent');
insert into entry values (0, 100, mdy(3,31,2026), mdy(4,1,2026), 49.99, null);
insert into entry values (0, 101, mdy(3,31,2026), mdy(3,31,2026), 12.34, 'Interest');
insert into entry values (0, 200, mdy(1,5,2026), mdy(1,5,2026), 77.77, 'Opening');
insert into fx values ('NOK', mdy(3,1,2026), 0.085);
insert into fx values ('NOK', mdy(3,31,2026), 0.0866);
insert into fx values ('EUR', mdy(1,1,2020), 1);

CREATE FUNCTION in_eur(p_ccy CHAR(3), p_day DATE, p_amt DECIMAL(12,2)) RETURNING DECIMAL(12,2);
  -- at the latest rate of the day or before
  DEFINE v_rate DECIMAL(12,6);
  FOREACH SELECT rate INTO v_rate FROM fx WHERE ccy = p_ccy AND day <= p_day ORDER BY day DESC
    RETURN ROUND(p_amt * v_rate, 2);
  END FOREACH
  RETURN NULL;
END FUNCTION;

CREATE PROCEDURE statement_lines(p_cust INTEGER, p_from DATE, p_to DATE, p_page SMALLINT DEFAULT 4)
    RETURNING INTEGER AS acc, SMALLINT AS page, CHAR(1) AS kind, DATE AS day, VARCHAR(24) AS txt, DECIMAL(14,2) AS amt;

-- kind:  H head, O old balance, E entry, C carried over, N new balance, X nothing at all
-- A page has p_page lines at most; the carried sum is the last one of a page and the first of the next.

   DEFINE v_acc         LIKE acc.acc;
   DEFINE v_ccy         CHAR(3);
   DEFINE v_kind        CHAR(1);
   DEFINE v_name        VARCHAR(30);
   DEFINE v_booked      DATE;
   DEFINE v_amt, v_bal  DECIMAL(14,2);
   DEFINE v_txt         VARCHAR(24);
   DEFINE v_line        SMALLINT;
   DEFINE v_page        SMALLINT;
   DEFINE v_any         SMALLINT;
   DEFINE v_min         DECIMAL(14,2);
   DEFINE v_min_day     DATE;

   SELECT name INTO v_name FROM holder WHERE cust = p_cust;
   IF v_name IS NULL THEN
      RAISE EXCEPTION -746, 0, 'no customer ' || p_cust;
   END IF;

   LET v_any = 0;
   FOREACH
      SELECT acc, ccy, kind INTO v_acc, v_ccy, v_kind FROM acc WHERE cust = p_cust ORDER BY acc

      LET v_any  = v_any + 1;
      LET v_page = 1;
      RETURN v_acc, v_page, 'H', NULL, v_name || ' ' || v_ccy, NULL WITH RESUME;
      LET v_line = 1;

      SELECT SUM(amt) INTO v_bal FROM entry WHERE acc = v_acc AND booked < p_from;
      LET v_bal = NVL(v_bal, 0);
      RETURN v_acc, v_page, 'O', p_from, NULL, v_bal WITH RESUME;
      LET v_line = v_line + 1;
      LET v_min, v_min_day = v_bal, p_from;

      FOREACH
         SELECT booked, amt, txt INTO v_booked, v_amt, v_txt
           FROM entry
          WHERE acc = v_acc AND booked BETWEEN p_from AND p_to
          ORDER BY booked, entry

         IF v_line = p_page - 1 THEN            { one line is left for the sum }
            RETURN v_acc, v_page, 'C', NULL, 'carried', v_bal WITH RESUME;
            LET v_page = v_page + 1;
            RETURN v_acc, v_page, 'C', NULL, 'from page ' || v_page - 1, v_bal WITH RESUME;
            LET v_line = 1;
         END IF;
         LET v_bal = v_bal + v_amt;
         IF v_bal < v_min THEN
            LET v_min, v_min_day = v_bal, v_booked;
         END IF;
         RETURN v_acc, v_page, 'E', v_booked, NVL(v_txt, '-'), v_amt WITH RESUME;
         LET v_line = v_line + 1;
      END FOREACH;

      IF v_kind = 'C' AND v_min < 0 THEN
         RETURN v_acc, v_page, 'N', p_to, 'lowest ' || TO_CHAR(v_min_day, '%d.%m.'), v_bal WITH RESUME;
      ELSE
         RETURN v_acc, v_page, 'N', p_to, NULL, v_bal WITH RESUME;
      END IF;
   END FOREACH;
   IF v_any = 0 THEN
      RETURN NULL, NULL, 'X', NULL, v_name, NULL;
   END IF;
END PROCEDURE;

create procedure month_report(p_year smallint, p_month smallint)
  returning varchar(60) as text;
  /* All customers: statements and their values in EUR.
     The rows come from another routine, and a temporary table holds them, as its rows are needed twice. */
  define v_cust, v_acc, v_n, v_pages integer;
  define v_page smallint;
  define v_kind char(1);
  define v_day, v_from, v_to date;
  define v_txt varchar(24);
  define v_name varchar(30);
  define v_amt, v_eur, v_sum, v_all decimal(14,2);
  define v_ccy char(3);

  let v_from = mdy(p_month, 1, p_year);
  let v_to = v_from + 1 units month - 1 units day;
  let v_all = 0;
  create temp table t_st (cust integer, acc integer, page smallint, kind char(1), amt decimal(14,2)) with no log;

  foreach select cust, name into v_cust, v_name from holder order by name
    foreach execute procedure statement_lines(v_cust, v_from, v_to)
       into v_acc, v_page, v_kind, v_day, v_txt, v_amt
      insert into t_st values (v_cust, v_acc, v_page, v_kind, v_amt);
    end foreach

    select count(*), max(page) into v_n, v_pages from t_st where cust = v_cust and kind = 'E';
    if v_n = 0 and not exists (select 1 from t_st where cust = v_cust and acc is not null) then
      return v_name || ': no accounts' with resume;
      continue foreach;
    end if

    let v_sum = 0;
    foreach select t.acc, t.amt, a.ccy into v_acc, v_amt, v_ccy
              from t_st t, acc a
             where t.cust = v_cust and t.kind = 'N' and a.acc = t.acc
             order by t.acc
      let v_eur = in_eur(v_ccy, v_to, v_amt);
      if v_ccy = 'EUR' then
        return v_name || ': ' || v_acc || ' ' || v_amt || ' EUR' with resume;
      else
        return v_name || ': ' || v_acc || ' ' || v_amt || ' ' || v_ccy || ' = ' || v_eur || ' EUR' with resume;
      end if
      let v_sum = v_sum + v_eur;
    end foreach
    return v_name || ': ' || v_n || ' entries, ' || nvl(v_pages, 1) || ' pages, ' || v_sum || ' EUR' with resume;
    let v_all = v_all + v_sum;
  end foreach
  drop table t_st;
  return 'all: ' || v_all || ' EUR' with resume;
end procedure;

-- 500; 379.50; 300 (page 1 is full with head, old balance, entry, sum); 1300; -50; -0.01
execute procedure statement_lines(1, mdy(3,1,2026), mdy(3,31,2026), 5);
--> 100|1|H||Mina Olsen NOK||
--> 100|1|O|2026-03-01||500.00|
--> 100|1|E|2026-03-02|Card 0001|-120.50|
--> 100|1|E|2026-03-02|Card 0002|-79.50|
--> 100|1|C||carried|300.00|
--> 100|2|C||from page 1|300.00|
--> 100|2|E|2026-03-09|Salary|1000.00|
--> 100|2|E|2026-03-10|Rent|-1350.00|
--> 100|2|E|2026-03-31|-|49.99|
--> 100|2|N|2026-03-31|lowest 10.03.|-0.01|
--> 101|1|H||Mina Olsen EUR||
--> 101|1|O|2026-03-01||0.00|
--> 101|1|E|2026-03-31|Interest|12.34|
--> 101|1|N|2026-03-31||12.34|
execute procedure statement_lines(3, mdy(3,1,2026), mdy(3,31,2026));
--> ||X||No Accounts||
execute procedure statement_lines(4, mdy(3,1,2026), mdy(3,31,2026));
--> error -746, 0, no customer 4
select in_eur('NOK', mdy(3,30,2026), 100), in_eur('NOK', mdy(4,1,2026), 100), in_eur('NOK', mdy(2,1,2026), 100)
  from sysmaster:sysdual;
--> 8.50|8.66||
-- pages of four lines: head, old, entry, sum; then sum, two entries, sum; then sum, two entries, new
-- -0.01 * 0.0866 is 0.00; 12.34
execute procedure month_report(2026, 3);
--> Mina Olsen: 100 -0.01 NOK = 0.00 EUR|
--> Mina Olsen: 101 12.34 EUR|
--> Mina Olsen: 6 entries, 3 pages, 12.34 EUR|
--> No Accounts: no accounts|
--> Piet de Wit: 200 77.77 EUR|
--> Piet de Wit: 0 entries, 1 pages, 77.77 EUR|
--> all: 90.11 EUR|
-- February: the first rate is of 1 March, so the value of 500 is NULL, and so is each line and sum with it
execute procedure month_report(2026, 2);
--> |
--> Mina Olsen: 101 0.00 EUR|
--> |
--> No Accounts: no accounts|
--> Piet de Wit: 200 77.77 EUR|
--> Piet de Wit: 0 entries, 1 pages, 77.77 EUR|
--> |
