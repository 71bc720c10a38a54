-- Dates and times: ends of months, working days, Easter, ISO weeks, ages, shifts over midnight, standing orders.

create table holiday (day date primary key, name varchar(20));
insert into holiday values (mdy(12, 25, 2026), 'Christmas Day');
insert into holiday values (mdy(12, 26, 2026), 'Boxing Day');
insert into holiday values (mdy(1, 1, 2027), 'New Year');

create function month_end (p_day date) returning date with (not variant);
    -- The first of the month always has the same day a month later, which the 31st has not.
    define v_first date;
    let v_first = mdy(month(p_day), 1, year(p_day));
    return v_first + 1 units month - 1 units day;
end function;

create function months_later (p_day date, p_months integer) returning date;
    -- The same day of another month, or its last day: -1267 tells that the day does not exist.
    define v_day date;
    define v_first date;

    on exception in (-1267)
        let v_first = mdy(month(p_day), 1, year(p_day));
        let v_first = v_first + p_months units month;
        return month_end(v_first);
    end exception;

    let v_day = p_day + p_months units month;
    return v_day;
end function;

CREATE FUNCTION is_workday (p_day DATE) RETURNING BOOLEAN;
    DEFINE v_n INTEGER;
    IF WEEKDAY(p_day) IN (0, 6) THEN
        RETURN 'f';
    END IF;
    SELECT COUNT(*) INTO v_n FROM holiday WHERE day = p_day;
    IF v_n > 0 THEN
        RETURN 'f';
    ELSE
        RETURN 't';
    END IF;
END FUNCTION;

CREATE FUNCTION workdays (p_from DATE, p_to DATE) RETURNING INTEGER;
    { Working days behind the first day, to the last; negative if the order is the other way round. }
    DEFINE v_day, v_last DATE;
    DEFINE v_n, v_sign INTEGER;

    LET v_sign = 1;
    LET v_day, v_last = p_from, p_to;
    IF p_to < p_from THEN
        LET v_sign = -1;
        LET v_day, v_last = p_to, p_from;
    END IF;
    LET v_n = 0;
    WHILE v_day < v_last
        LET v_day = v_day + 1;
        IF NOT is_workday(v_day) THEN
            CONTINUE WHILE;
        END IF;
        LET v_n = v_n + 1;
    END WHILE;
    RETURN v_n * v_sign;
END FUNCTION;

create function add_workdays (p_day date, p_n integer) returning date;
    define v_day date;
    define v_step, v_left integer;
    let v_day = p_day;
    let v_left = abs(p_n);
    if p_n < 0 then let v_step = -1; else let v_step = 1; end if;
    while v_left > 0
        let v_day = v_day + v_step;
        if is_workday(v_day) then
            let v_left = v_left - 1;
        end if
    end while
    return v_day;
end function;

create function easter (p_year integer) returning date with (not variant);
    -- The Gregorian computus, in whole numbers.
    define a, b, c, d, e, f, g, h, i, k, l, m, v_month, v_day integer;
    let a = mod(p_year, 19);
    let b = trunc(p_year / 100);
    let c = mod(p_year, 100);
    let d = trunc(b / 4);
    let e = mod(b, 4);
    let f = trunc((b + 8) / 25);
    let g = trunc((b - f + 1) / 3);
    let h = mod(19 * a + b - d - g + 15, 30);
    let i = trunc(c / 4);
    let k = mod(c, 4);
    let l = mod(32 + 2 * e + 2 * i - h - k, 7);
    let m = trunc((a + 11 * h + 22 * l) / 451);
    let v_month = trunc((h + l - 7 * m + 114) / 31);
    let v_day = mod(h + l - 7 * m + 114, 31) + 1;
    return mdy(v_month, v_day, p_year);
end function;

CREATE FUNCTION iso_week (p_day DATE) RETURNING SMALLINT AS year, SMALLINT AS week;
    -- The week is that of its Thursday.
    DEFINE v_thursday DATE;
    DEFINE v_weekday SMALLINT;
    LET v_weekday = WEEKDAY(p_day);
    IF v_weekday = 0 THEN
        LET v_weekday = 7;
    END IF;
    LET v_thursday = p_day + 4 - v_weekday;
    RETURN YEAR(v_thursday), TRUNC((v_thursday - MDY(1, 1, YEAR(v_thursday))) / 7) + 1;
END FUNCTION;

CREATE FUNCTION age_text (p_born DATE, p_on DATE) RETURNING VARCHAR(40);
    DEFINE v_months, v_days INTEGER;
    DEFINE v_text VARCHAR(40);
    IF p_on < p_born THEN
        RAISE EXCEPTION -746, 0, 'born ' || TO_CHAR(p_born, '%Y-%m-%d');
    END IF;
    LET v_months = (YEAR(p_on) - YEAR(p_born)) * 12 + MONTH(p_on) - MONTH(p_born);
    IF DAY(p_on) < DAY(p_born) THEN
        LET v_months = v_months - 1;
    END IF;
    LET v_days = p_on - months_later(p_born, v_months);
    LET v_text = TRUNC(v_months / 12) || 'y ' || MOD(v_months, 12) || 'm ' || v_days || 'd';
    RETURN v_text;
END FUNCTION;

create procedure split_shift (p_from datetime year to minute, p_to datetime year to minute)
    returning date as day, integer as minutes, integer as night;
    -- A row for each day; minutes before six and from ten in the evening are night.
    define v_from, v_to, v_start, v_end datetime year to minute;
    define v_day date;
    define v_minutes, v_night integer;

    let v_from = p_from;
    while v_from < p_to
        let v_day = date(v_from);
        let v_to = extend(v_day + 1, year to minute);
        if v_to > p_to then
            let v_to = p_to;
        end if;
        let v_minutes = ((v_to - v_from)::interval minute(6) to minute)::char(10)::integer;
        let v_night = 0;

        let v_end = extend(v_day, year to minute) + 6 units hour;
        if v_from < v_end then
            if v_to < v_end then
                let v_end = v_to;
            end if;
            let v_night = ((v_end - v_from)::interval minute(6) to minute)::char(10)::integer;
        end if;
        let v_start = extend(v_day, year to minute) + 22 units hour;
        if v_to > v_start then
            if v_from > v_start then
                let v_start = v_from;
            end if;
            let v_night = v_night + ((v_to - v_start)::interval minute(6) to minute)::char(10)::integer;
        end if;
        return v_day, v_minutes, v_night with resume;
        let v_from = v_to;
    end while;
end procedure;

CREATE PROCEDURE standing_order (p_start DATE, p_times INTEGER, p_months SMALLINT DEFAULT 1)
    RETURNING DATE AS due, DATE AS booked;
    -- Due on the day of the start, as far as the month has it; booked on the next working day.
    DEFINE i INTEGER;
    DEFINE v_due, v_booked DATE;
    FOR i = 0 TO p_times - 1
        LET v_due = months_later(p_start, i * p_months);
        LET v_booked = v_due;
        IF NOT is_workday(v_booked) THEN
            LET v_booked = add_workdays(v_booked, 1);
        END IF;
        RETURN v_due, v_booked WITH RESUME;
    END FOR;
END PROCEDURE;

select month_end(mdy(2, 10, 2028)), month_end(mdy(2, 1, 2026)), month_end(mdy(12, 31, 2026)) from sysmaster:sysdual;
--> 2028-02-29|2026-02-28|2026-12-31|
select months_later(mdy(1, 31, 2026), 1), months_later(mdy(1, 31, 2026), 2), months_later(mdy(3, 31, 2028), -1),
       months_later(mdy(2, 29, 2028), 12)
  from sysmaster:sysdual;
--> 2026-02-28|2026-03-31|2028-02-29|2029-02-28|
-- 21 December 2026 is a Monday: 22, 23, 24, 28, 29, 30, 31 and 4 January
select workdays(mdy(12, 21, 2026), mdy(1, 4, 2027)), workdays(mdy(1, 4, 2027), mdy(12, 21, 2026)),
       workdays(mdy(12, 25, 2026), mdy(12, 27, 2026))
  from sysmaster:sysdual;
--> 8|-8|0|
-- 24, 28, 29 December; 24, 23 December
select add_workdays(mdy(12, 23, 2026), 3), add_workdays(mdy(12, 28, 2026), -2), add_workdays(mdy(12, 26, 2026), 0)
  from sysmaster:sysdual;
--> 2026-12-29|2026-12-23|2026-12-26|
select easter(2000), easter(2024), easter(2026), easter(2027) from sysmaster:sysdual;
--> 2000-04-23|2024-03-31|2026-04-05|2027-03-28|
-- 2026 begins on a Thursday, so it has 53 weeks
execute function iso_week(mdy(1, 1, 2026));
--> 2026|1|
execute function iso_week(mdy(1, 1, 2027));
--> 2026|53|
execute function iso_week(mdy(12, 30, 2024));
--> 2025|1|
-- 27 November is 333 days after Monday 29 December 2025: 47 weeks and 4 days
execute function iso_week(mdy(11, 27, 2026));
--> 2026|48|
-- 311 months after 29 February 2000 is 29 January 2026; 312 months is 28 February
execute function age_text(mdy(2, 29, 2000), mdy(2, 28, 2026));
--> 25y 11m 30d|
execute function age_text(mdy(2, 29, 2000), mdy(3, 1, 2026));
--> 26y 0m 1d|
execute function age_text(mdy(5, 5, 2026), mdy(5, 5, 2026));
--> 0y 0m 0d|
execute function age_text(mdy(5, 6, 2026), mdy(5, 5, 2026));
--> error -746, 0, born 2026-05-06
-- 21:30 to midnight: 150 minutes, 120 at night; a whole day: 1440, 360 + 120; then 75, all at night
execute procedure split_shift('2026-11-27 21:30', '2026-11-29 01:15');
--> 2026-11-27|150|120|
--> 2026-11-28|1440|480|
--> 2026-11-29|75|75|
-- 5:45 to 22:10: 985 minutes, 15 + 10
execute procedure split_shift('2026-11-27 05:45', '2026-11-27 22:10');
--> 2026-11-27|985|25|
execute procedure split_shift('2026-11-27 05:45', '2026-11-27 05:45');
--> no rows
-- 31 January 2026 and 28 February are Saturdays
execute procedure standing_order(mdy(1, 31, 2026), 4);
--> 2026-01-31|2026-02-02|
--> 2026-02-28|2026-03-02|
--> 2026-03-31|2026-03-31|
--> 2026-04-30|2026-04-30|
-- Christmas Day is a Friday, a Saturday and a Sunday follow
execute procedure standing_order(mdy(12, 25, 2026), 2, 12);
--> 2026-12-25|2026-12-28|
--> 2027-12-25|2027-12-27|
