-- Reconciliation of a bank's file with the ledger: errors in nested blocks that resume, retries, a report of everything.

CREATE SEQUENCE rec_seq START WITH 7001 INCREMENT BY 1;
create table bank_line (line integer, ref varchar(20), amt varchar(16), val varchar(10), state char(1) default 'N');
create table ledger (id integer primary key constraint pk_ledger, ref varchar(20), amt decimal(12,2) not null,
                     booked date, matched integer, check (amt <> 0) constraint ck_ledger);
create table rec_run (run integer primary key, began date, matched integer, made integer, bad integer);
create table rec_note (run integer, nr serial, line integer, what varchar(20), detail varchar(60));
create table suspense (line integer primary key constraint pk_susp, amt decimal(12,2));
create unique index ux_ledger_ref on ledger (ref);
insert into ledger values (1, 'INV-1', 100, mdy(5,1,2026), null);
insert into ledger values (2, 'INV-2', 250.5, mdy(5,2,2026), null);
insert into ledger values (3, 'INV-3', 70, mdy(5,3,2026), null);
insert into ledger values (4, 'FEE', -3, mdy(5,3,2026), null);
insert into ledger values (5, 'INV-5', 10, mdy(5,3,2026), null);
insert into bank_line values (1, 'INV-1', '100.00', '05/04/2026', 'N');
insert into bank_line values (2, 'INV-2', '250.55', '05/04/2026', 'N');
insert into bank_line values (3, 'inv 3', '70', '05/05/2026', 'N');
insert into bank_line values (4, 'INV-4', '12,50', '05/05/2026', 'N');
insert into bank_line values (5, 'NEW-1', '33.33', '02/30/2026', 'N');
insert into bank_line values (6, 'NEW-2', '0', '05/06/2026', 'N');
insert into bank_line values (7, 'NEW-3', '44', '05/06/2026', 'N');
insert into bank_line values (8, 'NEW-3', '45', '05/06/2026', 'N');
insert into bank_line values (9, null, '1.10', '05/06/2026', 'N');
insert into bank_line values (10, 'FEE', '-12345678901', '05/06/2026', 'N');
insert into suspense values (9, 1);

create procedure note(p_run integer, p_line integer, p_what varchar(20), p_detail varchar(60) default null)
    insert into rec_note (run, nr, line, what, detail) values (p_run, 0, p_line, p_what, p_detail);
end procedure;

create function like_ref(p_ref varchar(20)) returning varchar(20);
    -- "inv 3", "INV3" and "Inv-3" are INV-3
    define v varchar(20);
    define i smallint;
    let v = upper(replace(replace(p_ref, ' ', ''), '-', ''));
    if v is null or v not matches '[A-Z]*[0-9]' then
        return p_ref;
    end if;
    let i = 1;
    while substr(v, i, 1) not between '0' and '9'
        let i = i + 1;
    end while;
    return substr(v, 1, i - 1) || '-' || substr(v, i);
end function;

CREATE PROCEDURE reconcile(p_day DATE, p_tolerance DECIMAL(6,2) DEFAULT 0.10)
    RETURNING INTEGER AS run, INTEGER AS matched, INTEGER AS made, INTEGER AS bad;

    --  For each line of the bank:
    --    its amount and date are read (what cannot be read is noted, the day of the run is taken for the date)
    --    an entry of the ledger is found by its reference, as written or as it might be meant
    --    the difference is small: it is booked as such; large: noted
    --    no entry: one is made; if that fails, the amount goes to suspense
    --    if that fails as well, the line is bad
    --  Each line is a transaction; a line is either done entirely or only noted.

    DEFINE v_run, v_line, v_id, v_new        INTEGER;
    DEFINE v_matched, v_made, v_bad          INTEGER;
    DEFINE v_ref, v_meant                    VARCHAR(20);
    DEFINE v_text                            VARCHAR(16);
    DEFINE v_val                             VARCHAR(10);
    DEFINE v_amt, v_have, v_diff             DECIMAL(12,2);
    DEFINE v_date                            DATE;
    DEFINE v_err, v_isam                     INTEGER;
    DEFINE v_msg                             VARCHAR(60);
    DEFINE v_is_bad                          BOOLEAN;

    LET v_run = rec_seq.NEXTVAL;
    LET v_matched, v_made, v_bad = 0, 0, 0;
    INSERT INTO rec_run VALUES (v_run, p_day, 0, 0, 0);

    FOREACH c_line WITH HOLD FOR
        SELECT line, ref, amt, val INTO v_line, v_ref, v_text, v_val
          FROM bank_line WHERE state = 'N' ORDER BY line

        LET v_is_bad = 'f';
        LET v_amt, v_date = NULL, NULL;
        BEGIN WORK;
        BEGIN
            -- outermost: whatever nobody expects
            ON EXCEPTION SET v_err, v_isam, v_msg
                ROLLBACK WORK;
                BEGIN WORK;
                CALL note(v_run, v_line, 'failed', v_err || ' ' || v_isam || ' ' || NVL(v_msg, ''));
                LET v_is_bad = 't';
            END EXCEPTION;              -- not WITH RESUME: the rest of the block is left out

            BEGIN
                ON EXCEPTION IN (-1213, -1226) SET v_err
                    CALL note(v_run, v_line, 'amount', v_text || ': ' || v_err);
                    LET v_is_bad = 't';
                END EXCEPTION WITH RESUME;
                ON EXCEPTION IN (-1204, -1205, -1206, -1218) SET v_err
                    CALL note(v_run, v_line, 'date', v_val || ': ' || v_err);
                    LET v_date = p_day;
                END EXCEPTION WITH RESUME;

                LET v_amt  = v_text;
                LET v_date = v_val;
            END;

            IF NOT v_is_bad THEN
                LET v_id = NULL;
                SELECT id, amt INTO v_id, v_have FROM ledger WHERE ref = v_ref AND matched IS NULL;
                IF v_id IS NULL THEN
                    LET v_meant = like_ref(v_ref);
                    SELECT id, amt INTO v_id, v_have FROM ledger WHERE ref = v_meant AND matched IS NULL;
                    IF v_id IS NOT NULL THEN
                        CALL note(v_run, v_line, 'reference', v_ref || ' is ' || v_meant);
                    END IF;
                END IF;

                IF v_id IS NOT NULL THEN
                    LET v_diff = v_amt - v_have;
                    IF ABS(v_diff) > p_tolerance THEN
                        RAISE EXCEPTION -746, v_id, 'differs by ' || v_diff;
                    END IF;
                    UPDATE ledger SET matched = v_line WHERE id = v_id;
                    IF v_diff <> 0 THEN
                        SELECT MAX(id) + 1 INTO v_new FROM ledger;
                        INSERT INTO ledger VALUES (v_new, 'DIFF ' || v_line, v_diff, v_date, v_line);
                        CALL note(v_run, v_line, 'difference', v_diff);
                    END IF;
                    LET v_matched = v_matched + 1;
                ELSE
                    BEGIN
                        DEFINE v_step VARCHAR(10);
                        ON EXCEPTION IN (-268, -239, -530, -391) SET v_err, v_isam, v_msg
                            CALL note(v_run, v_line, v_step, v_err || ' ' || v_msg);
                            LET v_step = 'suspense';
                            INSERT INTO suspense VALUES (v_line, v_amt);
                            CALL note(v_run, v_line, v_step, v_amt);
                        END EXCEPTION;

                        LET v_step = 'entry';
                        IF v_ref IS NULL THEN
                            RAISE EXCEPTION -391, 0, 'no reference';
                        END IF;
                        SELECT MAX(id) + 1 INTO v_new FROM ledger;
                        INSERT INTO ledger VALUES (v_new, v_ref, v_amt, v_date, v_line);
                        LET v_made = v_made + 1;
                    END;
                END IF;
            END IF;
        END;

        IF v_is_bad THEN
            LET v_bad = v_bad + 1;
            UPDATE bank_line SET state = 'B' WHERE line = v_line;
        ELSE
            UPDATE bank_line SET state = 'D' WHERE line = v_line;
        END IF;
        COMMIT WORK;
    END FOREACH;

    UPDATE rec_run SET (matched, made, bad) = (v_matched, v_made, v_bad) WHERE run = v_run;
    RETURN v_run, v_matched, v_made, v_bad;
END PROCEDURE;

create procedure rec_report(p_run integer) returning varchar(70) as text;
    define v_line, v_last, v_n integer;
    define v_what varchar(20);
    define v_detail varchar(60);
    define v_text varchar(70);
    let v_last = null;
    let v_text = '';
    foreach
        select line, what, detail into v_line, v_what, v_detail from rec_note where run = p_run order by nr
        if v_last = v_line then
            let v_text = v_text || '; ' || v_what;
        else
            if v_last is not null then
                return v_text with resume;
            end if;
            let v_text = v_line || ' ' || v_what;
        end if;
        if v_detail is not null then
            let v_text = v_text || ' ' || v_detail;
        end if;
        let v_last = v_line;
    end foreach;
    if v_last is not null then
        return v_text with resume;
    end if;
    -- what the bank does not know, and what is left of the lines
    foreach
        select 'open ' || ref || ' ' || amt, id into v_text, v_n from ledger where matched is null
        union all
        select 'bad line ' || line, 1000 + line from bank_line where state = 'B'
        order by 2
        return v_text with resume;
    end foreach;
end procedure;

select like_ref('inv 3'), like_ref('INV12'), like_ref('Inv-7'), like_ref('FEE'), like_ref(null) from sysmaster:sysdual;
--> INV-3|INV-12|INV-7|FEE||
-- 1 as it is; 2 differs by 0.05; 3 is meant; 4 is no number; 5: February has 28 days; 6: no entry of 0;
-- 7 is made; 8: its reference is there already, but matched; 9: no reference, and suspense has line 9;
-- 10: too many digits
execute procedure reconcile(mdy(5,7,2026));
--> 7001|3|2|3|
execute procedure rec_report(7001);
--> 2 difference 0.05|
--> 3 reference inv 3 is INV-3|
--> 4 amount 12,50: -1213|
--> 5 date 02/30/2026: -1206|
--> 6 entry -530 anna.ck_ledger; suspense 0.00|
--> 8 entry -239 ux_ledger_ref; suspense 45.00|
--> 9 failed -268 -100 anna.pk_susp|
--> 10 amount -12345678901: -1226|
--> open FEE -3.00|
--> open INV-5 10.00|
--> bad line 4|
--> bad line 9|
--> bad line 10|
select id, ref, amt, booked, matched from ledger where id > 5 order by id;
--> 6|DIFF 2|0.05|2026-05-04|2|
--> 7|NEW-1|33.33|2026-05-07|5|
--> 8|NEW-3|44.00|2026-05-06|7|
select line, amt from suspense order by line;
--> 6|0.00|
--> 8|45.00|
--> 9|1.00|
-- a difference that is too large; the lines that were bad are tried again
insert into bank_line values (11, 'INV5', '11.00', '05/08/2026', 'N');
update bank_line set state = 'N', amt = '-2.95', ref = 'Fee' where line = 10;
update bank_line set state = 'N', amt = '12.50' where line = 4;
delete from suspense where line = 9;
update bank_line set state = 'N' where line = 9;
execute procedure reconcile(p_tolerance = 0.04, p_day = mdy(5,8,2026));
--> 7002|0|2|1|
execute procedure rec_report(7002);
--> 9 entry -391 no reference; suspense 1.10|
--> 11 failed -746 5 differs by 1.00|
--> open FEE -3.00|
--> open INV-5 10.00|
--> bad line 11|
select run, matched, made, bad from rec_run order by run;
--> 7001|3|2|3|
--> 7002|0|2|1|
