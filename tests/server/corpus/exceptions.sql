-- Errors: handlers by code, nested and with resume, errors raised again, retries, transactions that are undone.

create table ledger (id integer primary key constraint pk_ledger, amount decimal(8,2) not null, note varchar(20),
    check (amount <> 0) constraint ck_amount);
create table step_log (id serial, text varchar(60));
insert into ledger values (1, 10, 'first');

create procedure note_step (p_text varchar(60))
    insert into step_log (text) values (p_text);
end procedure;

create procedure handler_for (p_code integer) returning varchar(20);
    -- The handler that names the code, wherever it stands behind the general one.
    on exception
        return 'other';
    end exception;
    on exception in (-746)
        return 'own';
    end exception;
    on exception in (-239, -268)
        return 'duplicate';
    end exception;
    if p_code = 0 then
        return 'none';
    end if;
    raise exception p_code;
end procedure;

create procedure put (p_id integer, p_amount decimal(8,2), p_note varchar(20) default null)
    returning varchar(10), integer, integer, varchar(40);
    -- Inserts, or updates what is there; tells which error there was otherwise.
    define sql_err, isam_err integer;
    define err_text varchar(40);

    on exception set sql_err, isam_err, err_text
        return 'failed', sql_err, isam_err, err_text;
    end exception;
    on exception in (-239, -268) set sql_err, isam_err, err_text
        update ledger set amount = p_amount, note = nvl(p_note, note) where id = p_id;
        return 'updated', sql_err, isam_err, err_text;
    end exception;

    insert into ledger values (p_id, p_amount, p_note);
    return 'inserted', 0, 0, null;
end procedure;

CREATE PROCEDURE read_numbers (p_a CHAR(10), p_b CHAR(10), p_c CHAR(10)) RETURNING INTEGER, INTEGER, SMALLINT;
    -- What is no number is 0; the statement behind the failed one is the next.
    DEFINE v_bad INTEGER;
    DEFINE v_sum, v_n INTEGER;
    DEFINE v_c SMALLINT;
    ON EXCEPTION IN (-1213)
        LET v_bad = v_bad + 1;
    END EXCEPTION WITH RESUME;
    ON EXCEPTION IN (-1214)
        LET v_c = -1;
    END EXCEPTION WITH RESUME;

    LET v_bad = 0;
    LET v_sum = 0;
    LET v_c = 0;
    LET v_n = 0;
    LET v_n = p_a;
    LET v_sum = v_sum + v_n;
    LET v_n = 0;
    LET v_n = p_b;
    LET v_sum = v_sum + v_n;
    LET v_c = p_c;
    RETURN v_sum, v_bad, v_c;
END PROCEDURE;

create procedure inner_step (p_kind integer)
    define e integer;
    define t varchar(40);
    on exception in (-1202) set e
        call note_step('inner ' || e);
        raise exception -746, e, 'division in step ' || p_kind;
    end exception;
    if p_kind = 1 then
        let e = 1 / 0;
    elif p_kind = 2 then
        insert into ledger values (1, 1, '');
    elif p_kind = 3 then
        raise exception -746, 3, 'asked for';
    end if;
    call note_step('step ' || p_kind);
end procedure;

create procedure outer_steps () returning integer;
    define i, v_failed, e, m integer;
    define t varchar(40);
    let v_failed = 0;
    for i = 0 to 3
        begin
            on exception set e, m, t
                let v_failed = v_failed + 1;
                call note_step('outer ' || e || ', ' || m || ': ' || nvl(t, ''));
            end exception
            call inner_step(i);
        end
    end for;
    return v_failed;
end procedure;

CREATE PROCEDURE flaky (p_try INTEGER, p_good INTEGER)
    IF p_try < p_good THEN
        RAISE EXCEPTION -244, -107, 'ledger';
    END IF;
END PROCEDURE;

CREATE PROCEDURE with_retries (p_good INTEGER, p_most INTEGER DEFAULT 3) RETURNING INTEGER;
    -- Tries again while rows are locked; another error, or the last try, ends it.
    DEFINE v_try, v_code, v_isam INTEGER;
    DEFINE v_text VARCHAR(40);
    LET v_try = 0;
    WHILE 1 = 1
        BEGIN
            ON EXCEPTION IN (-243, -244, -245) SET v_code, v_isam, v_text
                IF v_try >= p_most THEN
                    RAISE EXCEPTION v_code, v_isam, v_text;
                END IF;
                CONTINUE WHILE;
            END EXCEPTION;
            LET v_try = v_try + 1;
            CALL flaky(v_try, p_good);
            EXIT WHILE;
        END
    END WHILE;
    RETURN v_try;
END PROCEDURE;

create procedure transfer (p_from integer, p_to integer, p_amount decimal(8,2))
    -- All or nothing: -1 rows or a zero balance undoes both updates.
    define v_code, v_isam integer;
    define v_text varchar(60);

    on exception set v_code, v_isam, v_text
        rollback work;
        call note_step('undone: ' || v_code);
        raise exception v_code, v_isam, v_text;
    end exception;

    begin work;
    update ledger set amount = amount - p_amount where id = p_from;
    if dbinfo('sqlca.sqlerrd2') <> 1 then
        raise exception -746, 0, 'no entry ' || p_from;
    end if;
    update ledger set amount = amount + p_amount where id = p_to;
    if dbinfo('sqlca.sqlerrd2') <> 1 then
        raise exception -746, 0, 'no entry ' || p_to;
    end if;
    commit work;
end procedure;

CREATE PROCEDURE try_statements () RETURNING VARCHAR(50) AS statement, INTEGER AS sqlcode;
    -- One error after another; the loop goes on with the next.
    DEFINE v_text VARCHAR(50);
    DEFINE i SMALLINT;
    DEFINE v_code INTEGER;
    FOR i IN (1 TO 8)
        LET v_text = TRIM(DECODE(i, 1, 'delete from nowhere', 2, 'update ledger set nothing = 1',
                               3, 'insert into ledger values (1)', 4, 'insert into ledger values (9, null, '''')',
                               5, 'insert into ledger values (1, 1, '''')', 6, 'update ledger amount = 1',
                               7, 'update ledger set amount = 0', 8, 'update ledger set amount = ''x'''));
        LET v_code = 0;
        BEGIN
            ON EXCEPTION SET v_code
            END EXCEPTION WITH RESUME;
            EXECUTE IMMEDIATE v_text;
        END;
        RETURN v_text, v_code WITH RESUME;
    END FOR;
END PROCEDURE;

create procedure first_missing (p_from integer) returning integer;
    -- Counts up to the first number without an entry; SQLCODE 100 says so.
    define v_id, n integer;
    let n = p_from;
    loop
        select id into v_id from ledger where id = n;
        exit when sqlcode = 100;
        let n = n + 1;
    end loop;
    return n;
end procedure;

execute procedure handler_for(0);
--> none|
execute procedure handler_for(-268);
--> duplicate|
execute procedure handler_for(-746);
--> own|
execute procedure handler_for(-1202);
--> other|
execute procedure put(2, 5);
--> inserted|0|0||
execute procedure put(1, 12, 'again');
--> updated|-268|-100|anna.pk_ledger|
execute procedure put(1, 13);
--> updated|-268|-100|anna.pk_ledger|
execute procedure put(3, null);
--> failed|-391|0|ledger.amount|
execute procedure put(3, 0);
--> failed|-530|0|anna.ck_amount|
select id, amount, note from ledger order by id;
--> 1|13.00|again|
--> 2|5.00||
execute procedure read_numbers('12', ' 30 ', '7');
--> 42|0|7|
execute procedure read_numbers('1x', '30', '40000');
--> 30|1|-1|
-- 0 succeeds; 1 divides, which its own handler turns into -746; 2 is a duplicate; 3 is raised
execute procedure outer_steps();
--> 3|
select text from step_log order by id;
--> step 0|
--> inner -1202|
--> outer -746, -1202: division in step 1|
--> outer -268, -100: anna.pk_ledger|
--> outer -746, 3: asked for|
delete from step_log;
execute procedure with_retries(1);
--> 1|
execute procedure with_retries(3);
--> 3|
execute procedure with_retries(4);
--> error -244, -107, ledger
execute procedure transfer(1, 2, 3);
execute procedure transfer(1, 8, 3);
--> error -746, 0, no entry 8
execute procedure transfer(2, 1, 8);
--> error -530, 0, anna.ck_amount
select id, amount from ledger order by id;
--> 1|10.00|
--> 2|8.00|
select text from step_log order by id;
--> undone: -746|
--> undone: -530|
execute procedure try_statements();
--> delete from nowhere|-206|
--> update ledger set nothing = 1|-217|
--> insert into ledger values (1)|-236|
--> insert into ledger values (9, null, '')|-391|
--> insert into ledger values (1, 1, '')|-268|
--> update ledger amount = 1|-201|
--> update ledger set amount = 0|-530|
--> update ledger set amount = 'x'|-1213|
execute procedure first_missing(1);
--> 3|
-- a transaction of the caller: -535 for another BEGIN, and the handler's ROLLBACK ends the caller's
begin work;
update ledger set amount = 99 where id = 2;
execute procedure transfer(1, 2, 1);
--> error -535, 0
select amount from ledger where id = 2;
--> 8.00|
rollback work;
--> error -255, 0
