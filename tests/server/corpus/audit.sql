-- Audit: trigger actions with old and new values, values that a trigger corrects, a trigger routine, counts.

create table staff (staff_no integer primary key, name varchar(20), salary decimal(9,2), dept char(3));
create table staff_log
  (
    log_id serial,
    action char(1),
    staff_no integer,
    what varchar(12),
    old_value varchar(20),
    new_value varchar(20)
  );
create table dept_total (dept char(3) primary key, heads integer, salaries decimal(12,2));
create table statement_log (id serial, changed integer);

create procedure log_change(p_action char(1), p_no integer, p_what varchar(12), p_old varchar(20), p_new varchar(20))
    -- Writes nothing where nothing differs; NULL differs from any value.
    if p_old = p_new or (p_old is null and p_new is null) then
        return;
    end if;
    insert into staff_log (action, staff_no, what, old_value, new_value)
    values (p_action, p_no, p_what, p_old, p_new);
end procedure;

create function tidy_name(p_name varchar(20)) returning varchar(20);
    define v_name varchar(20);
    let v_name = initcap(trim(p_name));
    if v_name is null or length(v_name) = 0 then
        raise exception -746, 0, 'name is empty';
    end if;
    return v_name;
end function;

create procedure move_total(p_dept char(3), p_heads integer, p_salary decimal(9,2))
    if p_dept is null then
        return;
    end if;
    update dept_total set heads = heads + p_heads, salaries = salaries + p_salary where dept = p_dept;
    if dbinfo('sqlca.sqlerrd2') = 0 then
        insert into dept_total values (p_dept, p_heads, p_salary);
    end if;
end procedure;

CREATE PROCEDURE staff_totals() REFERENCING OLD AS o NEW AS n FOR staff;
    -- Keeps the totals of departments; called for each row of any change.
    IF INSERTING THEN
        CALL move_total(n.dept, 1, n.salary);
    ELIF DELETING THEN
        CALL move_total(o.dept, -1, -o.salary);
    ELIF UPDATING THEN
        IF n.salary > o.salary * 1.5 THEN
            RAISE EXCEPTION -746, 0, 'more than half: ' || o.staff_no;
        END IF;
        CALL move_total(o.dept, -1, -o.salary);
        CALL move_total(n.dept, 1, n.salary);
    END IF;
END PROCEDURE;

create procedure reset_count()
    define global g_changed integer default 0;
    let g_changed = 0;
end procedure;

create procedure count_row()
    define global g_changed integer default 0;
    let g_changed = g_changed + 1;
end procedure;

create procedure save_count()
    define global g_changed integer default 0;
    if g_changed > 0 then
        insert into statement_log values (0, g_changed);
    end if;
end procedure;

create trigger staff_ins insert on staff referencing new as n
    for each row (execute function tidy_name(n.name) into staff.name,
                  execute procedure staff_totals() with trigger references,
                  execute procedure log_change('I', n.staff_no, 'salary', null, n.salary));
create trigger staff_upd update of name, salary, dept on staff referencing old as o new as n
    before (execute procedure reset_count())
    for each row when (o.salary <> n.salary) (execute procedure log_change('U', o.staff_no, 'salary', o.salary, n.salary)),
                 (execute procedure log_change('U', o.staff_no, 'dept', o.dept, n.dept),
                  execute procedure staff_totals() with trigger references,
                  execute procedure count_row())
    after (execute procedure save_count());
create trigger staff_del delete on staff referencing old as o
    for each row (execute procedure staff_totals() with trigger references,
                  execute procedure log_change('D', o.staff_no, 'name', o.name, null));

insert into staff values (1, '  anna KOWALSKI', 3000, 'DEV');
insert into staff values (2, 'bob o''neil', 2000, 'DEV');
insert into staff values (3, 'CARLA', 2500, 'OPS');
insert into staff values (4, '   ', 2500, 'OPS');
--> error -746, 0, name is empty
select staff_no, name from staff order by 1;
--> 1|Anna Kowalski|
--> 2|Bob O'Neil|
--> 3|Carla|
select dept, heads, salaries from dept_total order by dept;
--> DEV|2|5000.00|
--> OPS|1|2500.00|
-- 5 per cent for both of DEV: 3150, 2100
update staff set salary = salary * 1.05 where dept = 'DEV';
-- Carla moves, and earns the same
update staff set dept = 'DEV', salary = 2500 where staff_no = 3;
update staff set salary = 1 where staff_no = 99;
-- 3150 * 1.5 = 4725.00 is allowed, 2100 * 1.5 = 3150 is not enough for 3150.01
update staff set salary = 4725 where staff_no = 1;
update staff set salary = salary + 1050.01 where staff_no < 3;
--> error -746, 0, more than half: 2
delete from staff where staff_no = 2;
select log_id, action, staff_no, what, old_value, new_value from staff_log order by log_id;
--> 1|I|1|salary||3000.00|
--> 2|I|2|salary||2000.00|
--> 3|I|3|salary||2500.00|
--> 4|U|1|salary|3000.00|3150.00|
--> 5|U|2|salary|2000.00|2100.00|
--> 6|U|3|dept|OPS|DEV|
--> 7|U|1|salary|3150.00|4725.00|
--> 10|D|2|name|Bob O'Neil||
-- 4725 + 2500
select dept, heads, salaries from dept_total order by dept;
--> DEV|2|7225.00|
--> OPS|0|0.00|
-- two rows, one, one; the update of no row counts none, the failed one is undone
select changed from statement_log order by id;
--> 2|
--> 1|
--> 1|
