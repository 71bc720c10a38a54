-- A payroll: overtime from time stamps, taxes by brackets, deductions that wait, values that come back in parameters.

create table worker (emp integer primary key, name varchar(20), kind char(1), rate money(8,2), children smallint,
                     ytd_gross money(12,2) default 0, ytd_tax money(12,2) default 0, hired date);
create table stamp (emp integer, came datetime year to minute, went datetime year to minute);
create table tax_bracket (low decimal(10,2), pct decimal(5,2));
create table garnish (nr integer, emp integer, rest decimal(10,2), most_pct decimal(5,2));
create table slip (emp integer, month datetime year to month, pos smallint, txt varchar(24), amt decimal(12,2));
create table pay_err (emp integer, msg varchar(60));
insert into worker (emp, name, kind, rate, children, hired) values (1, 'Ana', 'H', 20, 2, mdy(3,1,2020));
insert into worker (emp, name, kind, rate, children, hired) values (2, 'Ben', 'M', 6200, 0, mdy(5,16,2026));
insert into worker (emp, name, kind, rate, children, hired) values (3, 'Cas', 'H', 15, 0, mdy(1,1,2026));
insert into worker (emp, name, kind, rate, children, hired) values (4, 'Dot', 'M', 1000, 1, mdy(6,1,2026));
insert into worker (emp, name, kind, rate, children, hired) values (5, 'Eli', '?', 1000, 1, mdy(1,1,2026));
insert into stamp values (1, '2026-05-04 08:00', '2026-05-04 16:30');
insert into stamp values (1, '2026-05-05 08:00', '2026-05-05 19:00');
insert into stamp values (1, '2026-05-05 19:30', '2026-05-05 20:00');
insert into stamp values (1, '2026-05-09 10:00', '2026-05-09 12:15');
insert into stamp values (1, '2026-06-01 08:00', '2026-06-01 12:00');
insert into stamp values (3, '2026-05-04 22:00', '2026-05-05 06:00');
insert into stamp values (3, '2026-05-06 09:00', null);
insert into tax_bracket values (0, 0);
insert into tax_bracket values (100, 10);
insert into tax_bracket values (1000, 20);
insert into tax_bracket values (3000, 40);
insert into garnish values (1, 2, 150, 5);
insert into garnish values (2, 2, 9000, 10);

create procedure add_slip(p_emp integer, p_month datetime year to month, inout p_pos smallint,
                          p_txt varchar(24), p_amt decimal(12,2), inout p_sum decimal(12,2))
  if p_amt = 0 or p_amt is null then
    return;
  end if;
  let p_pos = p_pos + 1;
  let p_sum = p_sum + p_amt;
  insert into slip values (p_emp, p_month, p_pos, p_txt, p_amt);
end procedure;

CREATE PROCEDURE hours_of (p_emp INTEGER, p_month DATETIME YEAR TO MONTH,
                           OUT p_plain INTERVAL HOUR(4) TO MINUTE, OUT p_over INTERVAL HOUR(4) TO MINUTE,
                           OUT p_weekend INTERVAL HOUR(4) TO MINUTE)
   -- Above eight hours a day is overtime; Saturdays and Sundays are neither. A day is that of the first stamp.
   DEFINE v_came, v_went  DATETIME YEAR TO MINUTE;
   DEFINE v_day, v_last   DATE;
   DEFINE v_today, v_dur, v_free  INTERVAL HOUR(4) TO MINUTE;
   DEFINE c_zero, c_eight INTERVAL HOUR(4) TO MINUTE;

   LET c_zero, c_eight = INTERVAL (0:00) HOUR TO MINUTE, INTERVAL (8:00) HOUR TO MINUTE;
   LET p_plain, p_over, p_weekend = c_zero, c_zero, c_zero;
   LET v_last, v_today = NULL, c_zero;
   FOREACH
      SELECT came, went INTO v_came, v_went
        FROM stamp
       WHERE emp = p_emp AND EXTEND(came, YEAR TO MONTH) = p_month
       ORDER BY came

      LET v_day = DATE(v_came);
      IF v_went IS NULL THEN
         RAISE EXCEPTION -746, DAY(v_day), 'no end on ' || TO_CHAR(v_day, '%d.%m.');
      END IF;
      LET v_dur = v_went - v_came;
      IF WEEKDAY(v_day) IN (6, 0) THEN
         LET p_weekend = p_weekend + v_dur;
         CONTINUE FOREACH;
      END IF;
      IF v_last IS NULL OR v_last <> v_day THEN
         LET v_today, v_last = c_zero, v_day;
      END IF;
      LET v_free = c_eight - v_today;                -- what is left of the eight hours
      IF v_free < c_zero THEN LET v_free = c_zero; END IF;
      IF v_dur > v_free THEN
         LET p_plain = p_plain + v_free;
         LET p_over  = p_over + (v_dur - v_free);
      ELSE
         LET p_plain = p_plain + v_dur;
      END IF;
      LET v_today = v_today + v_dur;
   END FOREACH;
END PROCEDURE;

create procedure payroll_run(p_month datetime year to month, p_emp integer default null)
   returning integer as emp, decimal(12,2) as gross, decimal(12,2) as tax, decimal(12,2) as net;

   ---------------------------------------------------------------
   -- H: paid by the hour; overtime plus 25, weekends plus 50 per cent
   -- M: a monthly salary, by calendar days in the month of entry
   -- tax: by brackets, after 100.00 free for each child
   -- garnishments: a part of the net pay, oldest first, until they are paid
   -- A worker with an error has no slip, and an entry in pay_err.
   ---------------------------------------------------------------
   define w_emp, w_child          integer;
   define w_kind                  char(1);
   define w_rate                  money(8,2);
   define w_hired, v_from, v_to   date;
   define h_plain, h_over, h_week interval hour(4) to minute;
   define v_min                   integer;
   define v_pos, v_days, v_len    smallint;
   define v_gross, v_net, v_tax   decimal(12,2);
   define v_base, v_part, v_none  decimal(12,2);
   define b_low, b_next           decimal(10,2);
   define b_pct                   decimal(5,2);
   define g_nr                    integer;
   define g_rest, g_take          decimal(10,2);
   define g_pct                   decimal(5,2);
   define e, i                    integer;
   define t                       varchar(60);

   let v_from = extend(p_month, year to day);
   let v_to   = v_from + 1 units month;
   let v_len  = v_to - v_from;
   let v_none = 0;

   foreach c_emp with hold for
      select emp, kind, rate, nvl(children, 0), hired
        into w_emp, w_kind, w_rate, w_child, w_hired
        from worker
       where (p_emp is null or emp = p_emp) and hired < v_to
       order by emp

      begin work;
      begin
         on exception set e, i, t
            rollback work;
            insert into pay_err values (w_emp, e || ', ' || i || ': ' || t);
            continue foreach;
         end exception

         delete from slip where emp = w_emp and month = p_month;
         let v_pos, v_gross = 0, 0;

         -- gross ------------------------------------------------
         case w_kind
            when 'H' then
               call hours_of(w_emp, p_month, h_plain, h_over, h_week);
               let v_min = h_plain::interval minute(7) to minute::char(12)::integer;
               call add_slip(w_emp, p_month, v_pos, 'hours ' || trim(h_plain::char(10)), round(w_rate * v_min / 60, 2), v_gross);
               let v_min = h_over::interval minute(7) to minute::char(12)::integer;
               call add_slip(w_emp, p_month, v_pos, 'overtime ' || trim(h_over::char(10)), round(w_rate * 1.25 * v_min / 60, 2), v_gross);
               let v_min = h_week::interval minute(7) to minute::char(12)::integer;
               call add_slip(w_emp, p_month, v_pos, 'weekend ' || trim(h_week::char(10)), round(w_rate * 1.5 * v_min / 60, 2), v_gross);
            when 'M' then
               let v_days = v_len;
               if w_hired > v_from then
                  let v_days = v_to - w_hired;
               end if
               call add_slip(w_emp, p_month, v_pos, 'salary ' || v_days || '/' || v_len, round(w_rate * v_days / v_len, 2), v_gross);
         end case

         -- tax --------------------------------------------------
         let v_base = v_gross - 100 * w_child;
         let v_tax = 0;
         foreach
            select b.low, b.pct, (select min(n.low) from tax_bracket n where n.low > b.low)
              into b_low, b_pct, b_next
              from tax_bracket b
             where b.low < v_base
             order by b.low
            if b_next is null or b_next > v_base then
               let b_next = v_base;
            end if
            let v_tax = v_tax + round((b_next - b_low) * b_pct / 100, 2);
         end foreach
         let v_net = v_gross;
         call add_slip(w_emp, p_month, v_pos, 'tax', -v_tax, v_net);

         -- garnishments -----------------------------------------
         let v_base = v_net;
         foreach c_g for
            select nr, rest, most_pct into g_nr, g_rest, g_pct from garnish where emp = w_emp and rest > 0
            let g_take = round(v_base * g_pct / 100, 2);
            if g_take > g_rest then let g_take = g_rest; end if
            update garnish set rest = rest - g_take where current of c_g;
            call add_slip(w_emp, p_month, v_pos, 'garnishment ' || g_nr, -g_take, v_net);
         end foreach

         update worker
            set ytd_gross = ytd_gross + v_gross, ytd_tax = ytd_tax + v_tax
          where emp = w_emp;
         call add_slip(w_emp, p_month, v_pos, 'net', v_net, v_none);
      end
      commit work;
      return w_emp, v_gross, v_tax, v_net with resume;
   end foreach
end procedure;

-- 1: Monday 8:30, Tuesday 11:00 and 0:30, Saturday 2:15: plain 16:00 = 320.00, over 0:30 + 3:00 + 0:30 = 4:00 at 25 = 100.00,
--    weekend 2:15 at 30 = 67.50; 487.50 - 200 free: 187.50 above 100 at 10 per cent
-- 2: 16 of 31 days of 6200 = 3200.00: 90 + 400 + 80; net 2630: 5 per cent are 131.50, 10 per cent 263.00
-- 3: no end of a stamp; 4: hired in June; 5: no such kind, which no WHEN has
execute procedure payroll_run('2026-05');
--> 1|487.50|18.75|468.75|
--> 2|3200.00|570.00|2235.50|
select emp, msg from pay_err order by emp;
--> 3|-746, 6: no end on 06.05.|
--> 5|-26062, 0: |
select emp, pos, txt, amt from slip order by emp, pos;
--> 1|1|hours 16:00|320.00|
--> 1|2|overtime 4:00|100.00|
--> 1|3|weekend 2:15|67.50|
--> 1|4|tax|-18.75|
--> 1|5|net|468.75|
--> 2|1|salary 16/31|3200.00|
--> 2|2|tax|-570.00|
--> 2|3|garnishment 1|-131.50|
--> 2|4|garnishment 2|-263.00|
--> 2|5|net|2235.50|
select emp, ytd_gross, ytd_tax from worker where emp <= 3 order by emp;
--> 1|487.50|18.75|
--> 2|3200.00|570.00|
--> 3|0.00|0.00|
-- 22:00 to 6:00 is one day's eight hours, 120.00; 8:45 are 120.00 and 14.06; 10 per cent of 154.06
update stamp set went = '2026-05-06 17:45' where went is null;
execute procedure payroll_run('2026-05', 3);
--> 3|254.06|15.41|238.65|
-- June: 6200: 90 + 400 + 1280 = 1770, net 4430: 18.50 is the rest of 1, 443.00; Dot: 1000 - 100, 80.00
execute procedure payroll_run('2026-06', 2);
--> 2|6200.00|1770.00|3968.50|
execute procedure payroll_run('2026-06', 4);
--> 4|1000.00|80.00|920.00|
select nr, rest from garnish order by nr;
--> 1|0.00|
--> 2|8294.00|
