-- Batches: a transaction for each item, errors that are logged, a run that begins where it ended, the day's close.

create table posting
  (
    post_id integer not null primary key constraint pk_posting,
    acct integer,
    amount decimal(12,2),
    state char(1)
  );
create table account
  (
    acct integer primary key,
    balance decimal(12,2),
    check (balance >= 0) constraint ck_balance
  );
create table batch_log (log_id serial, post_id integer, sqlcode integer, isam integer, text varchar(80));
create table batch_run (run_date date primary key constraint pk_run, posted int, failed int, state char(1));
insert into account values (10, 100.00);
insert into account values (20, 50.00);
insert into posting values (1, 10, 25.50, 'N');
insert into posting values (2, 20, -60.00, 'N');
insert into posting values (3, 99, 5.00, 'N');
insert into posting values (4, 20, -50.00, 'N');
insert into posting values (5, 10, -125.49, 'N');

create procedure post_one(p_id integer)
    define v_acct integer;
    define v_amount decimal(12,2);

    select acct, amount into v_acct, v_amount from posting where post_id = p_id;
    update account set balance = balance + v_amount where acct = v_acct;
    if dbinfo('sqlca.sqlerrd2') = 0 then
        raise exception -746, 0, 'no account ' || v_acct;
    end if;
    update posting set state = 'P' where post_id = p_id;
end procedure;

create procedure run_batch(p_date date) returning int as posted, int as failed;
    -- Each posting is a transaction of its own: a bad one is marked, and the others are posted.
    define v_id, v_posted, v_failed int;
    define v_code, v_isam int;
    define v_text varchar(80);

    on exception in (-239, -268)
        -- the run of this day exists
        return -1, -1;
    end exception;

    let v_posted = 0;
    let v_failed = 0;
    insert into batch_run values (p_date, 0, 0, 'R');

    foreach c_post with hold for
        select post_id into v_id from posting where state = 'N' order by post_id

        begin
            on exception set v_code, v_isam, v_text
                rollback work;
                begin work;
                insert into batch_log values (0, v_id, v_code, v_isam, v_text);
                update posting set state = 'E' where post_id = v_id;
                commit work;
                let v_failed = v_failed + 1;
            end exception;

            begin work;
            execute procedure post_one(v_id);
            commit work;
            let v_posted = v_posted + 1;
        end;
    end foreach;

    update batch_run set posted = v_posted, failed = v_failed, state = 'D' where run_date = p_date;
    return v_posted, v_failed;
end procedure;

create procedure retry_failed(p_max int default 100) returning int;
    -- Puts failed postings back in the queue, at most p_max of them.
    define v_id, v_n int;
    let v_n = 0;
    begin work;
    foreach c_retry for
        select post_id into v_id from posting where state = 'E'
        if v_n >= p_max then
            exit foreach;
        end if;
        update posting set state = 'N' where current of c_retry;
        delete from batch_log where post_id = v_id;
        let v_n = v_n + 1;
    end foreach;
    commit work;
    return v_n;
end procedure;

CREATE PROCEDURE close_day(p_date DATE) RETURNING VARCHAR(40);
    DEFINE v_state CHAR(1);
    DEFINE v_failed INT;
    DEFINE v_sum DECIMAL(14,2);

    SET LOCK MODE TO WAIT 5;
    SELECT state, failed INTO v_state, v_failed FROM batch_run WHERE run_date = p_date;
    IF v_state IS NULL THEN
        RETURN 'no run';
    END IF;
    IF v_state = 'C' THEN
        RETURN 'closed before';
    END IF;
    IF v_failed > 0 AND EXISTS (SELECT * FROM posting WHERE state = 'E') THEN
        RETURN v_failed || ' failed';
    END IF;
    BEGIN WORK;
        UPDATE batch_run SET state = 'C' WHERE run_date = p_date;
        DELETE FROM posting WHERE state = 'P';
        SELECT SUM(balance) INTO v_sum FROM account;
    COMMIT WORK;
    RETURN 'closed with ' || v_sum;
END PROCEDURE;

-- 1: 100 + 25.50; 2 would leave -10; 3 has no account; 4 leaves 0; 5 leaves 125.50 - 125.49
execute procedure run_batch(mdy(3, 31, 2026));
--> 3|2|
select acct, balance from account order by acct;
--> 10|0.01|
--> 20|0.00|
select post_id, state from posting order by post_id;
--> 1|P|
--> 2|E|
--> 3|E|
--> 4|P|
--> 5|P|
select log_id, post_id, sqlcode, isam, text from batch_log order by log_id;
--> 1|2|-530|0|anna.ck_balance|
--> 2|3|-746|0|no account 99|
execute procedure run_batch(mdy(3, 31, 2026));
--> -1|-1|
execute procedure close_day(mdy(4, 1, 2026));
--> no run|
execute procedure close_day(mdy(3, 31, 2026));
--> 2 failed|
execute procedure retry_failed(1);
--> 1|
-- posting 2 succeeds with more money: 0.00 + 70 - 60
update account set balance = balance + 70 where acct = 20;
execute procedure run_batch(mdy(4, 1, 2026));
--> 1|0|
insert into account values (99, 0);
execute procedure retry_failed();
--> 1|
execute procedure run_batch(mdy(4, 2, 2026));
--> 1|0|
select count(*) from batch_log;
--> 0|
-- 0.01 + 10.00 + 5.00
execute procedure close_day(mdy(3, 31, 2026));
--> closed with 15.01|
execute procedure close_day(mdy(3, 31, 2026));
--> closed before|
select count(*) from posting;
--> 0|
select run_date, posted, failed, state from batch_run order by run_date;
--> 2026-03-31|3|2|C|
--> 2026-04-01|1|0|D|
--> 2026-04-02|1|0|D|
