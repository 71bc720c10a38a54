-- Dynamic SQL, parameters that give values back, GOTO and parts of strings.

create table part_2025 (part char(6), qty integer, price decimal(8,2));
create table part_2026 (part char(6), qty integer, price decimal(8,2));
create table job (job_no integer, kind char(1), state char(1), tries smallint);
insert into part_2025 values ('AXLE', 4, 10);
insert into part_2025 values ('BELT', 6, 2.50);
insert into part_2026 values ('AXLE', 5, 11);
insert into part_2026 values ('CLAMP', 9, 0.40);
insert into part_2026 values ('DRUM', 1, 99);
insert into job values (1, 'A', 'N', 0);
insert into job values (2, 'B', 'N', 0);
insert into job values (3, 'X', 'N', 0);

create procedure count_rows (p_table varchar(30), p_where varchar(100) default null) returning integer;
    -- The table's name is known only when it runs.
    define v_sql varchar(200);
    define v_n integer;

    let v_sql = 'select count(*) from ' || p_table;
    if p_where is not null then
        let v_sql = v_sql || ' where ' || p_where;
    end if;
    prepare s_count from v_sql;
    declare c_count cursor for s_count;
    open c_count;
    fetch c_count into v_n;
    close c_count;
    free c_count;
    free s_count;
    return v_n;
end procedure;

create procedure parts_above (p_year smallint, p_qty integer, p_most smallint default 10)
    returning char(6) as part, integer as qty;
    -- A parameter, a loop to the end of the rows, and an early way out.
    define v_part char(6);
    define v_qty, v_rows integer;

    let v_rows = 0;
    prepare s_part from 'select part, qty from part_' || p_year || ' where qty > ? order by part';
    declare c_part cursor for s_part;
    open c_part using p_qty;
    while 1 = 1
        fetch c_part into v_part, v_qty;
        if sqlcode = 100 or v_rows = p_most then
            exit while;
        end if;
        let v_rows = v_rows + 1;
        return v_part, v_qty with resume;
    end while;
    close c_part;
    free c_part;
    free s_part;
end procedure;

CREATE PROCEDURE take_over (p_from SMALLINT, p_to SMALLINT, p_percent DECIMAL(5,2)) RETURNING INTEGER, INTEGER;
    -- Parts that are new in a year's table are copied, prices raised; the tables are named by their year.
    DEFINE v_copied, v_raised INTEGER;
    EXECUTE IMMEDIATE 'insert into part_' || p_to || ' select part, 0, price from part_' || p_from
        || ' where part not in (select part from part_' || p_to || ')';
    LET v_copied = DBINFO('sqlca.sqlerrd2');
    EXECUTE IMMEDIATE 'update part_' || p_to || ' set price = round(price * ' || (100 + p_percent) || ' / 100, 2)';
    LET v_raised = DBINFO('sqlca.sqlerrd2');
    RETURN v_copied, v_raised;
END PROCEDURE;

execute procedure count_rows('part_2025');
--> 2|
execute procedure count_rows('part_2026', 'qty between 2 and 9');
--> 2|
execute procedure count_rows('part_2024');
--> error -206, -111, part_2024
-- nothing is left of the failed one
execute procedure count_rows('job', 'kind <> ''A''');
--> 2|
execute procedure parts_above(2026, 1);
--> AXLE  |5|
--> CLAMP |9|
execute procedure parts_above(2026, 0, 1);
--> AXLE  |5|
execute procedure parts_above(2025, 6);
--> no rows
-- BELT is new; AXLE 11.55, BELT 2.625, CLAMP 0.42, DRUM 103.95
execute procedure take_over(2025, 2026, 5);
--> 1|4|
select part, qty, price from part_2026 order by part;
--> AXLE  |5|11.55|
--> BELT  |0|2.63|
--> CLAMP |9|0.42|
--> DRUM  |1|103.95|

create procedure share (p_total decimal(10,2), p_n integer, out p_part decimal(10,2), out p_rest decimal(10,2))
    -- Equal parts in whole cents, and what is left.
    if p_n < 1 then
        let p_part = null;
        let p_rest = p_total;
        return;
    end if;
    let p_part = trunc(p_total / p_n, 2);
    let p_rest = p_total - p_part * p_n;
end procedure;

create procedure share_text (p_total decimal(10,2), p_n integer) returning varchar(40);
    define v_part, v_rest decimal(10,2);
    call share(p_total, p_n, v_part, v_rest);
    return p_n || ' of ' || nvl(v_part::varchar(12), 'nothing') || ', ' || v_rest || ' left';
end procedure;

create procedure add_to (inout p_sum decimal(10,2), p_value decimal(10,2))
    if p_value is not null then
        let p_sum = p_sum + p_value;
    end if;
end procedure;

create procedure stock_value (p_year smallint) returning decimal(10,2);
    -- A cursor of dynamic SQL, whose rows are added by a procedure that changes its argument.
    define v_sum, v_value decimal(10,2);
    let v_sum = 0;
    prepare s_value from 'select qty * price from part_' || p_year;
    declare c_value cursor for s_value;
    open c_value;
    fetch c_value into v_value;
    while sqlcode = 0
        call add_to(v_sum, v_value);
        fetch c_value into v_value;
    end while;
    close c_value;
    free c_value;
    free s_value;
    return v_sum;
end procedure;

CREATE PROCEDURE run_jobs (p_tries SMALLINT) RETURNING INTEGER AS done, INTEGER AS given_up;
    -- Jobs of kind B succeed at the second attempt, of kind X never.
    DEFINE v_job, v_done, v_given_up INTEGER;
    DEFINE v_kind CHAR(1);
    DEFINE v_try SMALLINT;

    LET v_done, v_given_up = 0, 0;
    FOREACH SELECT job_no, kind INTO v_job, v_kind FROM job WHERE state = 'N' ORDER BY job_no
        LET v_try = 0;
        <<again>>
        LET v_try = v_try + 1;
        UPDATE job SET tries = v_try WHERE job_no = v_job;
        IF v_kind = 'X' OR (v_kind = 'B' AND v_try < 2) THEN
            IF v_try < p_tries THEN
                GOTO again;
            END IF;
            UPDATE job SET state = 'E' WHERE job_no = v_job;
            LET v_given_up = v_given_up + 1;
            CONTINUE FOREACH;
        END IF;
        UPDATE job SET state = 'D' WHERE job_no = v_job;
        LET v_done = v_done + 1;
    END FOREACH;
    RETURN v_done, v_given_up;
END PROCEDURE;

create procedure mask_card (p_card char(16), p_sign char(1) default '*') returning char(16);
    -- All but the first four and the last four digits.
    define v_card char(16);
    let v_card = p_card;
    let v_card[5,8] = p_sign || p_sign || p_sign || p_sign;
    let v_card[9,12] = v_card[5,8];
    return v_card;
end procedure;

create procedure flags (p_old char(5), p_on varchar(5)) returning char(5);
    -- One character for each day; a shorter text is padded.
    define v_flags char(5);
    let v_flags = p_old;
    if p_on matches '*1*' then let v_flags[1] = 'Y'; end if;
    if p_on matches '*3*' then let v_flags[3,4] = 'Y'; end if;
    if p_on matches '*5*' then let v_flags[5,5] = 'YES'; end if;
    return v_flags;
end procedure;

execute procedure share_text(100, 3);
--> 3 of 33.33, 0.01 left|
execute procedure share_text(5, 0);
--> 0 of nothing, 5.00 left|
-- 4 * 10 + 6 * 2.50; 5 * 11.55 + 9 * 0.42 + 103.95
execute procedure stock_value(2025);
--> 55.00|
execute procedure stock_value(2026);
--> 165.48|
execute procedure run_jobs(3);
--> 2|1|
select job_no, state, tries from job order by job_no;
--> 1|D|1|
--> 2|D|2|
--> 3|E|3|
execute procedure run_jobs(3);
--> 0|0|
execute procedure mask_card('1234567890123456');
--> 1234********3456|
execute procedure mask_card('1234567890123456', '-');
--> 1234--------3456|
execute procedure flags('NNNNN', '13');
--> YNY N|
execute procedure flags('NNNNN', '5');
--> NNNNY|
