-- Accrued interest: day-count conventions, rates that change, a currency's decimals, the rest that rounding leaves.

create table loan (loan integer primary key, ccy char(3), conv varchar(8), principal decimal(16,2), accrued_to date,
                   rest decimal(12,8) default 0, state char(1) default 'A');
create table loan_rate (loan integer, valid_from date, pct decimal(7,4));
create table accrual (loan integer, from_day date, to_day date, days integer, amount decimal(16,3));
create unique index ix_accrual on accrual (loan, to_day);
insert into loan (loan, ccy, conv, principal, accrued_to) values (1, 'EUR', 'ACT/360', 36000, mdy(1, 15, 2026));
insert into loan (loan, ccy, conv, principal, accrued_to) values (2, 'JPY', 'ACT/365', 1234567, mdy(1, 15, 2026));
insert into loan (loan, ccy, conv, principal, accrued_to) values (3, 'KWD', '30E/360', 7201.5, mdy(1, 15, 2026));
insert into loan (loan, ccy, conv, principal, accrued_to) values (4, 'GBP', 'ACT/ACT', 133590, mdy(12, 22, 2027));
insert into loan (loan, ccy, conv, principal, accrued_to) values (5, 'EUR', '30/365', 100, mdy(1, 15, 2026));
insert into loan (loan, ccy, conv, principal, accrued_to) values (6, 'EUR', 'ACT/360', 100, mdy(1, 15, 2026));
insert into loan_rate values (1, mdy(1, 1, 2026), 5);
insert into loan_rate values (1, mdy(2, 1, 2026), 4);
insert into loan_rate values (1, mdy(9, 1, 2026), 3);
insert into loan_rate values (2, mdy(1, 1, 2020), 3.65);
insert into loan_rate values (3, mdy(1, 1, 2020), 5);
insert into loan_rate values (4, mdy(1, 1, 2020), 1);
insert into loan_rate values (5, mdy(1, 1, 2020), 1);
insert into loan_rate values (6, mdy(2, 1, 2026), 1);

Create Function day_count (p_conv VarChar(8), p_from Date, p_to Date)
    Returning Integer As days, Decimal(20,12) As part_of_year
    With (Not Variant);
    /*
     *  The days between two dates and their part of a year.
     *      ACT/360   ACT/365      calendar days
     *      30E/360                every 31st is a 30th
     *      30U/360                a 31st at the end only behind a 30th or 31st
     *      ACT/ACT                each year's days by the length of the year
     */
    Define d1, d2, y          Integer;
    Define v_days, v_base     Integer;
    Define v_part             Decimal(20,12);
    Define v_start, v_end     Date;

    If p_from Is Null Or p_to Is Null Or p_from > p_to Then
        Return Null, Null;
    End If

    Let v_days = p_to - p_from;
    Let v_base = 0;
    If p_conv = 'ACT/360' Then
        Let v_base = 360;
    Elif p_conv = 'ACT/365' Then
        Let v_base = 365;
    Elif p_conv Matches '30?/360' Then
        Let v_base = 360;
        Let d1, d2 = Day(p_from), Day(p_to);
        If d1 = 31 Then Let d1 = 30; End If
        If p_conv = '30E/360' Then
            If d2 = 31 Then Let d2 = 30; End If
        Else
            If d2 = 31 And d1 = 30 Then Let d2 = 30; End If
        End If
        Let v_days = 360 * (Year(p_to) - Year(p_from)) + 30 * (Month(p_to) - Month(p_from)) + (d2 - d1);
    Elif p_conv = 'ACT/ACT' Then
        Let v_part = 0;
        For y = Year(p_from) To Year(p_to)
            Let v_start = Mdy(1, 1, y);
            Let v_end   = Mdy(1, 1, y + 1);
            Let v_base  = v_end - v_start;
            If v_start < p_from Then Let v_start = p_from; End If
            If v_end > p_to Then Let v_end = p_to; End If
            Let v_part = v_part + (v_end - v_start) / v_base;
        End For
        Return v_days, v_part;
    Else
        Raise Exception -746, 0, 'convention ' || p_conv || '?';
    End If
    Return v_days, v_days / v_base;
End Function;

CREATE PROCEDURE accrue (p_loan INTEGER, p_to DATE, OUT p_days INTEGER, OUT p_amount DECIMAL(16,3))
    -- Interest since the last time; what rounding to the currency leaves is kept for the next time.
    DEFINE v_ccy        CHAR(3);
    DEFINE v_conv       VARCHAR(8);
    DEFINE v_state      CHAR(1);
    DEFINE v_principal  DECIMAL(16,2);
    DEFINE v_rest       DECIMAL(12,8);
    DEFINE v_sum        DECIMAL(28,12);
    DEFINE v_part       DECIMAL(20,12);
    DEFINE v_pct        DECIMAL(7,4);
    DEFINE v_since, v_from, v_to, v_next   DATE;
    DEFINE v_days       INTEGER;
    DEFINE v_places     SMALLINT;

    LET p_days   = 0;
    LET p_amount = 0;
    SELECT ccy, conv, principal, accrued_to, rest, state
      INTO v_ccy, v_conv, v_principal, v_since, v_rest, v_state
      FROM loan WHERE loan = p_loan;
    IF SQLCODE = 100 THEN
        RAISE EXCEPTION -746, 0, 'no loan ' || p_loan;
    END IF;
    IF v_state <> 'A' OR v_since >= p_to THEN
        RETURN;                             -- nothing to do
    END IF;

    LET v_sum  = v_rest;
    LET v_from = v_since;
    FOREACH
        SELECT r.pct, r.valid_from,
               (SELECT MIN(n.valid_from) FROM loan_rate n WHERE n.loan = r.loan AND n.valid_from > r.valid_from)
          INTO v_pct, v_to, v_next
          FROM loan_rate r
         WHERE r.loan = p_loan AND r.valid_from < p_to
         ORDER BY r.valid_from

        IF v_next <= v_from THEN CONTINUE FOREACH; END IF;
        IF v_to > v_from THEN
            RAISE EXCEPTION -746, 0, 'loan ' || p_loan || ' has no rate on ' || v_from;
        END IF;
        LET v_to = p_to;
        IF v_next < p_to THEN LET v_to = v_next; END IF;

        CALL day_count(v_conv, v_from, v_to) RETURNING v_days, v_part;
        LET v_sum  = v_sum + v_principal * v_pct / 100 * v_part;
        LET p_days = p_days + v_days;
        LET v_from = v_to;
    END FOREACH;

    CASE v_ccy
        WHEN 'JPY' THEN LET v_places = 0;
        WHEN 'KWD' THEN LET v_places = 3;
        ELSE            LET v_places = 2;
    END CASE;
    LET p_amount = ROUND(v_sum, v_places);
    INSERT INTO accrual VALUES (p_loan, v_since, p_to, p_days, p_amount);
    UPDATE loan
       SET (accrued_to, rest) = (p_to, v_sum - p_amount)
     WHERE loan = p_loan;
END PROCEDURE;

create procedure accrual_run (p_to date, p_first integer default 1, p_last integer default 999)
    returning integer as loan, integer as days, decimal(16,3) as amount, varchar(50) as note;
    -- All loans, one after another: an error of one is its note. The last row has the sums.
    define v_loan, v_days, v_sum_days, v_isam integer;
    define v_amount, v_sum decimal(16,3);
    define v_note varchar(50);
    define v_errors, v_code integer;

    let v_errors = 0;
    let v_sum = 0;
    let v_sum_days = 0;
    foreach c_run with hold for
        select loan into v_loan from loan where loan between p_first and p_last order by loan

        let v_note = null;
        begin
            on exception set v_code, v_isam, v_note
                rollback work;
                if v_code <> -746 then
                    let v_note = v_code || ' ' || v_isam || ' ' || nvl(v_note, '');
                end if;
                let v_days, v_amount = null, null;
                let v_errors = v_errors + 1;
            end exception with resume;
            begin work;
            call accrue(v_loan, p_to, v_days, v_amount);
            if v_note is null then
                commit work;
            end if;
        end;
        let v_sum = v_sum + nvl(v_amount, 0);
        let v_sum_days = v_sum_days + nvl(v_days, 0);
        return v_loan, v_days, v_amount, v_note with resume;
    end foreach;
    if v_errors > 0 then
        return null, v_sum_days, v_sum, v_errors || ' error' || trim(case when v_errors = 1 then '' else 's' end);
    end if;
    return null, v_sum_days, v_sum, null;
end procedure;

execute function day_count('ACT/360', mdy(1, 15, 2026), mdy(2, 15, 2026));
--> 31|0.086111111111|
execute function day_count('30E/360', mdy(1, 30, 2026), mdy(3, 31, 2026));
--> 60|0.166666666667|
execute function day_count('30E/360', mdy(2, 28, 2026), mdy(3, 31, 2026));
--> 32|0.088888888889|
execute function day_count('30U/360', mdy(2, 28, 2026), mdy(3, 31, 2026));
--> 33|0.091666666667|
execute function day_count('30U/360', mdy(1, 31, 2026), mdy(3, 31, 2026));
--> 60|0.166666666667|
-- 1 of 365, all of 2028, 1 of 365: 0.002739726027 + 1 + 0.002739726027
execute function day_count('ACT/ACT', mdy(12, 31, 2027), mdy(1, 2, 2029));
--> 368|1.005479452054|
execute function day_count('ACT/ACT', mdy(1, 2, 2029), mdy(12, 31, 2027));
--> ||
execute function day_count('ACT/364', mdy(1, 2, 2029), mdy(1, 2, 2029));
--> error -746, 0, convention ACT/364?
-- 1: 36000 * 5 % * 17 / 360 = 85.00, 36000 * 4 % * 14 / 360 = 56.00
-- 2: 1234567 * 3.65 % / 365 = 123.4567 a day, times 31 = 3827.1577
-- 3: 7201.5 * 5 % / 360 * 30 = 30.00625
-- (the part of a year has 12 digits: 31 / 365 is 3.15E-13 too small, which 45061.6955 makes 0.0000000142,
--  and 30 / 360 is 0.083333333333, so that 30.00625 is 30.00624999988)
-- 5: the convention is unknown; 6: the first rate is of 1 February
execute procedure accrual_run(mdy(2, 15, 2026));
--> 1|31|141.000||
--> 2|31|3827.000||
--> 3|30|30.006||
--> 4|0|0.000||
--> 5|||convention 30/365?|
--> 6|||loan 6 has no rate on 01/15/2026|
--> |92|3998.006|2 errors|
select loan, accrued_to, rest from loan where loan in (2, 3) order by loan;
--> 2|2026-02-15|0.15769999|
--> 3|2026-02-15|0.00025000|
execute procedure accrual_run(mdy(2, 15, 2026), 1, 4);
--> 1|0|0.000||
--> 2|0|0.000||
--> 3|0|0.000||
--> 4|0|0.000||
--> |0|0.000||
-- 28 days: 36000 * 4 % * 28 / 360 = 112.00
-- 3456.78759999 + 0.15769999 = 3456.94529998; 30.00624999988 + 0.00025 is just below 30.0065
execute procedure accrual_run(mdy(3, 15, 2026), 1, 4);
--> 1|28|112.000||
--> 2|28|3457.000||
--> 3|30|30.006||
--> 4|0|0.000||
--> |86|3599.006||
select loan, rest from loan where loan in (2, 3) order by loan;
--> 2|-0.05470002|
--> 3|0.00050000|
-- 10 days of 2027: 1335.90 * 10 / 365 = 36.60; 14 days of 2028: 1335.90 * 14 / 366 = 51.10
execute procedure accrual_run(mdy(1, 15, 2028), 4, 4);
--> 4|24|87.700||
--> |24|87.700||
-- what is there already is an error of the index, and nothing of it is kept
insert into accrual values (4, mdy(1, 15, 2028), mdy(1, 16, 2028), 1, 0);
execute procedure accrual_run(mdy(1, 16, 2028), 4, 4);
--> 4|||-239 -100 ix_accrual|
--> |0|0.000|1 error|
select accrued_to from loan where loan = 4;
--> 2028-01-15|
update loan set state = 'C' where loan = 1;
execute procedure accrual_run(mdy(4, 15, 2026), 1, 1);
--> 1|0|0.000||
--> |0|0.000||
