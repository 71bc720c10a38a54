-- Interest: 30/360 days, rates by balance, a monthly run that is rounded once an account, a loan's instalments.

create table acct (acct_no integer primary key, kind char(2), opened date);
create table rate (kind char(2), from_balance decimal(12,2), pct decimal(6,4));
create table movement (acct_no integer, value_date date, kind char(1), amount decimal(12,2));
create unique index ux_interest on movement (acct_no, value_date, kind);
insert into acct values (1, 'SV', mdy(1, 1, 2026));
insert into acct values (2, 'SV', mdy(1, 1, 2026));
insert into acct values (3, 'SV', mdy(1, 20, 2026));
insert into acct values (4, 'LN', mdy(1, 1, 2026));
insert into rate values ('SV', 0, 1);
insert into rate values ('SV', 1000, 2.5);
insert into rate values ('SV', 10000, 3);
insert into rate values ('LN', -999999, 6);
insert into movement values (1, mdy(1, 1, 2026), 'M', 1200);
insert into movement values (1, mdy(1, 16, 2026), 'M', -700);
insert into movement values (2, mdy(1, 1, 2026), 'M', 24000);
insert into movement values (3, mdy(1, 20, 2026), 'M', 999.99);
insert into movement values (4, mdy(1, 1, 2026), 'M', -3600);

create function days_30_360 (p_from date, p_to date) returning integer with (not variant);
    -- The American rule: a 31st is a 30th, the last day only after a 30th or 31st.
    define d1, d2 smallint;
    let d1 = day(p_from);
    let d2 = day(p_to);
    if d1 = 31 then
        let d1 = 30;
    end if
    if d2 = 31 and d1 = 30 then
        let d2 = 30;
    end if
    return (year(p_to) - year(p_from)) * 360 + (month(p_to) - month(p_from)) * 30 + d2 - d1;
end function;

create function tier_rate (p_kind char(2), p_balance decimal(12,2)) returning decimal(6,4);
    define v_pct, v_best decimal(6,4);
    define v_from decimal(12,2);

    let v_best = 0;
    foreach select from_balance, pct into v_from, v_pct
              from rate where kind = p_kind order by from_balance
        if v_from > p_balance then
            exit foreach;
        end if
        let v_best = v_pct;
    end foreach
    return v_best;
end function;

CREATE FUNCTION balance_at (p_acct INTEGER, p_date DATE) RETURNING DECIMAL(12,2);
    DEFINE v_sum DECIMAL(12,2);
    SELECT NVL(SUM(amount), 0) INTO v_sum FROM movement WHERE acct_no = p_acct AND value_date <= p_date;
    RETURN v_sum;
END FUNCTION;

create function interest_for (p_acct integer, p_from date, p_to date) returning decimal(12,2);
    define v_kind char(2);
    define v_day, v_since date;
    define v_amount, v_balance decimal(12,2);
    define v_sum decimal(20,8);

    select kind into v_kind from acct where acct_no = p_acct;
    if v_kind is null then
        raise exception -746, 0, 'no account ' || p_acct;
    end if;
    let v_balance = balance_at(p_acct, p_from);
    let v_since = p_from;
    let v_sum = 0;
    foreach
        select value_date, sum(amount) into v_day, v_amount
          from movement
         where acct_no = p_acct and value_date > p_from and value_date < p_to
         group by value_date
         order by value_date
        let v_sum = v_sum + v_balance * days_30_360(v_since, v_day) * tier_rate(v_kind, v_balance) / 36000;
        let v_balance = v_balance + v_amount;
        let v_since = v_day;
    end foreach;
    let v_sum = v_sum + v_balance * days_30_360(v_since, p_to) * tier_rate(v_kind, v_balance) / 36000;
    return round(v_sum, 2);
end function;

create procedure interest_run (p_from date, p_to date) returning integer, decimal(14,2), integer;
    -- Returns the number of accounts, the interest of all, and the accounts that had it before.
    define v_acct, v_count, v_before integer;
    define v_interest decimal(12,2);
    define v_total decimal(14,2);

    let v_count, v_before = 0, 0;
    let v_total = 0.00;
    foreach c_acct with hold for select acct_no into v_acct from acct order by acct_no
        begin
            on exception in (-239, -268)
                rollback work;
                let v_before = v_before + 1;
                continue foreach;
            end exception

            let v_interest = interest_for(v_acct, p_from, p_to);
            begin work;
            insert into movement values (v_acct, p_to, 'I', v_interest);
            commit work;
            let v_total = v_total + v_interest;
            let v_count = v_count + 1;
        end
    end foreach;
    return v_count, v_total, v_before;
end procedure;

CREATE PROCEDURE instalments (p_loan DECIMAL(12,2), p_pct DECIMAL(6,4), p_months INTEGER)
    RETURNING INTEGER AS nr, DECIMAL(12,2) AS payment, DECIMAL(12,2) AS interest, DECIMAL(12,2) AS rest;
    -- An annuity; the last payment takes what rounding has left.
    DEFINE v_pay, v_interest, v_rest DECIMAL(12,2);
    DEFINE r FLOAT;
    DEFINE i INTEGER;

    LET r = p_pct / 1200;
    IF r = 0 THEN
        LET v_pay = ROUND(p_loan / p_months, 2);
    ELSE
        LET v_pay = ROUND(p_loan * r / (1 - POW(1 + r, -p_months)), 2);
    END IF;
    LET v_rest = p_loan;
    FOR i = 1 TO p_months
        LET v_interest = ROUND(v_rest * p_pct / 1200, 2);
        IF i = p_months THEN
            LET v_pay = v_rest + v_interest;
        END IF;
        LET v_rest = v_rest - (v_pay - v_interest);
        RETURN i, v_pay, v_interest, v_rest WITH RESUME;
    END FOR;
END PROCEDURE;

select days_30_360(mdy(1, 1, 2026), mdy(1, 31, 2026)), days_30_360(mdy(1, 31, 2026), mdy(2, 28, 2026)),
       days_30_360(mdy(1, 30, 2026), mdy(3, 31, 2026)), days_30_360(mdy(12, 31, 2025), mdy(1, 1, 2026))
  from sysmaster:sysdual;
--> 30|28|60|1|
select tier_rate('SV', 999.99), tier_rate('SV', 1000), tier_rate('LN', -5), tier_rate('XX', 1)
  from sysmaster:sysdual;
--> 1.0000|2.5000|6.0000|0.0000|
-- 1200 * 15 days * 2.5 % = 1.25, then 500 * 15 days * 1 % = 0.2083
execute function interest_for(1, mdy(1, 1, 2026), mdy(1, 31, 2026));
--> 1.46|
execute function interest_for(5, mdy(1, 1, 2026), mdy(1, 31, 2026));
--> error -746, 0, no account 5
-- 1.46; 24000 * 30 * 3 / 36000 = 60.00; 999.99 * 11 / 36000 = 0.3056; -3600 * 30 * 6 / 36000 = -18.00
execute procedure interest_run(mdy(1, 1, 2026), mdy(1, 31, 2026));
--> 4|43.77|0|
select acct_no, amount from movement where kind = 'I' order by acct_no;
--> 1|1.46|
--> 2|60.00|
--> 3|0.31|
--> 4|-18.00|
execute procedure interest_run(mdy(1, 1, 2026), mdy(1, 31, 2026));
--> 0|0.00|4|
-- 28 days: 501.46 * 28 / 36000 = 0.3900; 24060 * 28 * 3 / 36000 = 56.14; 1000.30 is in the second tier:
-- 1000.30 * 28 * 2.5 / 36000 = 1.9450; -3618 * 28 * 6 / 36000 = -16.884
execute procedure interest_run(mdy(1, 31, 2026), mdy(2, 28, 2026));
--> 4|41.60|0|
select balance_at(3, mdy(2, 28, 2026)), balance_at(3, mdy(2, 27, 2026)), balance_at(3, mdy(1, 1, 2026))
  from sysmaster:sysdual;
--> 1002.25|1000.30|0.00|
-- 1000 * 0.01 / (1 - 1.01 ** -3) = 340.0221; 669.98 * 1 % = 6.6998; 336.66 * 1 % = 3.3666
execute procedure instalments(1000, 12, 3);
--> 1|340.02|10.00|669.98|
--> 2|340.02|6.70|336.66|
--> 3|340.03|3.37|0.00|
execute procedure instalments(100, 0, 3);
--> 1|33.33|0.00|66.67|
--> 2|33.33|0.00|33.34|
--> 3|33.34|0.00|0.00|
