-- Audit of changes: one trigger routine for every change of a table, old and new values, corrections, refusals, undoing.

create table staff (emp integer primary key constraint pk_staff, name varchar(20), dept smallint, salary decimal(9,2),
                    left_on date, changed_by char(8), version integer default 1);
create table staff_log (nr serial, op char(1), emp integer, col varchar(12), was varchar(30), is varchar(30));
create table dept_total (dept smallint primary key, heads integer, salaries decimal(12,2));
create table pay_limit (dept smallint, lo decimal(9,2), hi decimal(9,2), raise_pct decimal(5,2));
insert into dept_total values (10, 0, 0);
insert into dept_total values (20, 0, 0);
insert into pay_limit values (10, 1000, 5000, 20);
insert into pay_limit values (20, 2000, null, null);

CREATE PROCEDURE log_col (p_op CHAR(1), p_emp INTEGER, p_col VARCHAR(12), p_was VARCHAR(30), p_is VARCHAR(30))
  -- only if they differ; NULL is a value of its own here
  IF p_was = p_is OR (p_was IS NULL AND p_is IS NULL) THEN RETURN; END IF
  INSERT INTO staff_log (nr, op, emp, col, was, is) VALUES (0, p_op, p_emp, p_col, p_was, p_is);
END PROCEDURE;

Create Procedure staff_changed () Referencing Old As o New As n For staff;
  -----------------------------------------------------------------------
  -- for INSERT, UPDATE and DELETE of staff
  --   * checks the salary against the department's limits
  --   * tidies the name, counts the versions
  --   * writes what has changed, column by column
  --   * keeps the totals of the departments
  -----------------------------------------------------------------------
  Define l_lo, l_hi   Decimal(9,2);
  Define l_pct        Decimal(5,2);
  Define l_op         Char(1);
  Define l_emp        Integer;
  Define l_plus       Decimal(9,1);

  If Inserting Then
    Let l_op, l_emp = 'I', n.emp;
  Elif Updating Then
    Let l_op, l_emp = 'U', n.emp;
  Else
    Let l_op, l_emp = 'D', o.emp;
  End If

  If Deleting Then
    If o.left_on Is Null Then
      Raise Exception -746, 0, 'employee ' || o.emp || ' has not left';
    End If
  Else
    Let n.name = Trim(n.name);
    If n.name Is Null Or n.name = '' Then
      Raise Exception -746, 0, 'employee ' || n.emp || ' needs a name';
    End If

    Select lo, hi, raise_pct Into l_lo, l_hi, l_pct From pay_limit Where dept = n.dept;
    If sqlcode = 100 Then
      Raise Exception -746, 0, 'no department ' || Nvl(n.dept::Varchar(6), '?');
    End If
    If n.salary < l_lo Then
      Let n.salary = l_lo;          -- raised silently
    End If
    If n.salary > l_hi Then
      Raise Exception -746, 0, n.salary || ' is above ' || l_hi;
    End If
    If Updating And o.dept = n.dept And l_pct Is Not Null Then
      Let l_plus = (n.salary - o.salary) / o.salary * 100;
      If l_plus > l_pct Then
        Raise Exception -746, 0, 'raise of ' || l_plus || ' per cent';
      End If
    End If
    Let n.changed_by = Upper(user);
  End If

  If Updating Then
    If o.emp <> n.emp Then
      Raise Exception -746, 0, 'the number cannot change';
    End If
    Let n.version = o.version + 1;
  End If

  Call log_col(l_op, l_emp, 'name',    o.name, n.name);
  Call log_col(l_op, l_emp, 'dept',    o.dept, n.dept);
  Call log_col(l_op, l_emp, 'salary',  o.salary, n.salary);
  Call log_col(l_op, l_emp, 'left_on', o.left_on, n.left_on);

  If Not Inserting And o.left_on Is Null Then
    Update dept_total Set heads = heads - 1, salaries = salaries - o.salary Where dept = o.dept;
  End If
  If Not Deleting And n.left_on Is Null Then
    Update dept_total Set heads = heads + 1, salaries = salaries + n.salary Where dept = n.dept;
  End If
End Procedure;

create trigger staff_i insert on staff referencing new as post
  for each row (execute procedure staff_changed() with trigger references);
create trigger staff_u update on staff referencing old as pre new as post
  for each row (execute procedure staff_changed() with trigger references);
create trigger staff_d delete on staff referencing old as pre
  for each row (execute procedure staff_changed() with trigger references);

CREATE PROCEDURE undo_changes (p_emp INTEGER, p_from INTEGER) RETURNING INTEGER AS undone, VARCHAR(40) AS note;
  -- Takes the columns of one employee back to what they were before entry p_from, newest entry first.
  DEFINE v_nr, v_done, v_code, v_isam INTEGER;
  DEFINE v_op        CHAR(1);
  DEFINE v_col       VARCHAR(12);
  DEFINE v_was       VARCHAR(30);
  DEFINE v_sql       LVARCHAR(400);
  DEFINE v_text      VARCHAR(40);
  DEFINE v_isnum     BOOLEAN;

  LET v_done = 0;
  LET v_text = NULL;
  DROP TABLE IF EXISTS t_undo;
  SELECT nr, op, col, was FROM staff_log WHERE emp = p_emp AND nr >= p_from INTO TEMP t_undo WITH NO LOG;

  BEGIN WORK;
  FOREACH SELECT nr, op, col, was INTO v_nr, v_op, v_col, v_was FROM t_undo ORDER BY nr DESC

    IF v_op <> 'U' THEN
      LET v_text = 'entry ' || v_nr || ' is ' || DECODE(v_op, 'I', 'an insert', 'D', 'a delete');
      EXIT FOREACH;
    END IF
    LET v_isnum = 'f';
    IF v_col IN ('dept', 'salary') THEN LET v_isnum = 't'; END IF

    LET v_sql = 'UPDATE staff SET ' || v_col || ' = ';
    IF v_was IS NULL THEN
      LET v_sql = v_sql || 'NULL';
    ELIF v_isnum THEN
      LET v_sql = v_sql || v_was;
    ELSE
      LET v_sql = v_sql || '''' || REPLACE(v_was, '''', '''''') || '''';
    END IF
    LET v_sql = v_sql || ' WHERE emp = ' || p_emp;

    BEGIN
      ON EXCEPTION SET v_code, v_isam, v_text
        LET v_done = -1;
      END EXCEPTION
      EXECUTE IMMEDIATE v_sql;
      LET v_done = v_done + 1;
    END
    IF v_done < 0 THEN EXIT FOREACH; END IF
  END FOREACH

  IF v_done < 0 OR v_text IS NOT NULL THEN
    ROLLBACK WORK;
    RETURN 0, v_text;
  END IF
  COMMIT WORK;
  RETURN v_done, v_text;
END PROCEDURE;

insert into staff (emp, name, dept, salary) values (1, '  Ada ', 10, 2000);
insert into staff (emp, name, dept, salary) values (2, 'O''Hara', 20, 1500);
select emp, name, salary, changed_by, version from staff order by emp;
--> 1|Ada|2000.00|ANNA    |1|
--> 2|O'Hara|2000.00|ANNA    |1|
insert into staff (emp, name, dept, salary) values (3, ' ', 10, 2000);
--> error -746, 0, employee 3 needs a name
insert into staff (emp, name, dept, salary) values (3, 'Bob', 30, 2000);
--> error -746, 0, no department 30
insert into staff (emp, name, dept, salary) values (3, 'Bob', 10, 5000.01);
--> error -746, 0, 5000.01 is above 5000.00
-- 25 per cent; department 20 has no limit
update staff set salary = 2500;
--> error -746, 0, raise of 25.0 per cent
update staff set salary = salary * 1.2, dept = dept;
select emp, salary, version from staff order by emp;
--> 1|2400.00|2|
--> 2|2400.00|2|
update staff set dept = 20, salary = 4000 where emp = 1;
select op, emp, col, was, is from staff_log where op = 'U' order by nr;
--> U|1|salary|2000.00|2400.00|
--> U|2|salary|2000.00|2400.00|
--> U|1|dept|10|20|
--> U|1|salary|2400.00|4000.00|
-- 4000 + 2400
select dept, heads, salaries from dept_total order by dept;
--> 10|0|0.00|
--> 20|2|6400.00|
update staff set emp = 9 where emp = 1;
--> error -746, 0, the number cannot change
delete from staff where emp = 2;
--> error -746, 0, employee 2 has not left
update staff set left_on = mdy(6, 30, 2026), name = 'Hara' where emp = 2;
select heads, salaries from dept_total where dept = 20;
--> 1|4000.00|
delete from staff where emp = 2;
select col, was, is from staff_log where op = 'D' order by nr;
--> name|Hara||
--> dept|20||
--> salary|2400.00||
--> left_on|06/30/2026||
-- a serial counts what has been undone, too, so entries are found by what they say
-- salary to 2400, then the department to 10, where 2400 is within the limits
select min(nr) as nr from staff_log where emp = 1 and col = 'dept' and op = 'U' into temp t_nr;
create procedure undo_from_dept() returning integer, varchar(40);
  define n, r integer; define t varchar(40);
  select * into n from t_nr;
  call undo_changes(1, n) returning r, t;
  return r, t;
end procedure;
execute procedure undo_from_dept();
--> 2||
select name, dept, salary, version from staff where emp = 1;
--> Ada|10|2400.00|5|
select dept, heads, salaries from dept_total order by dept;
--> 10|1|2400.00|
--> 20|0|0.00|
-- everything: the insert wrote entries 1 to 3, of which 3 is met first
execute procedure undo_changes(1, 0);
--> 0|entry 3 is an insert|
select dept, salary, version from staff where emp = 1;
--> 10|2400.00|5|
-- what cannot be undone: from 1000 back to 2400 is more than 20 per cent
update staff set salary = 1000 where emp = 1;
select max(nr) as nr from staff_log into temp t_max;
update t_nr set (nr) = ((select nr from t_max));
execute procedure undo_from_dept();
--> 0|raise of 140.0 per cent|
