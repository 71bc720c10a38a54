-- Reports and statistics: subtotals, ranks, cross tables, medians and buckets over temporary tables.

create table sales (sale_no serial, region char(5), rep varchar(10), sold date, amount decimal(10,2));
insert into sales values (0, 'East', 'Ann', mdy(1, 5, 2026), 100);
insert into sales values (0, 'East', 'Ann', mdy(4, 5, 2026), 300);
insert into sales values (0, 'East', 'Bo', mdy(2, 5, 2026), 250);
insert into sales values (0, 'West', 'Cy', mdy(1, 9, 2026), 400);
insert into sales values (0, 'West', 'Cy', mdy(7, 1, 2026), 50);
insert into sales values (0, 'West', 'Di', mdy(11, 30, 2026), 400);
insert into sales values (0, 'East', 'Ann', mdy(12, 31, 2025), 999);

CREATE FUNCTION sales_report(p_year SMALLINT)
    RETURNING CHAR(5) AS region, VARCHAR(10) AS rep, DECIMAL(12,2) AS amount, DECIMAL(5,1) AS share;
    -- A row for each representative with the share in the region; totals have NULL for what they sum up.
    DEFINE v_region, v_last CHAR(5);
    DEFINE v_rep VARCHAR(10);
    DEFINE v_amount, v_region_total, v_total DECIMAL(12,2);
    DEFINE v_first BOOLEAN;

    SET DEBUG FILE TO 'sales_report.trc';
    TRACE ON;
    LET v_first = 't';
    LET v_total = 0;
    LET v_region_total = 0;
    LET v_last = '';
    FOREACH
        SELECT region, rep, SUM(amount)
          INTO v_region, v_rep, v_amount
          FROM sales
         WHERE YEAR(sold) = p_year
         GROUP BY region, rep
         ORDER BY region, rep

        IF v_first OR v_region <> v_last THEN
            IF NOT v_first THEN
                RETURN v_last, NULL, v_region_total, 100 WITH RESUME;
            END IF;
            LET v_region_total = (SELECT SUM(amount) FROM sales WHERE region = v_region AND YEAR(sold) = p_year);
            LET v_total = v_total + v_region_total;
            LET v_last = v_region;
            LET v_first = 'f';
        END IF;
        RETURN v_region, v_rep, v_amount, ROUND(v_amount / v_region_total * 100, 1) WITH RESUME;
    END FOREACH;
    IF NOT v_first THEN
        RETURN v_last, NULL, v_region_total, 100 WITH RESUME;
    END IF;
    RETURN NULL, NULL, v_total, NULL WITH RESUME;
    TRACE OFF;
END FUNCTION;

create procedure top_reps(p_year smallint, p_places smallint default 3)
    returning smallint as place, varchar(10) as rep, decimal(12,2) as amount;
    -- Equal amounts share a place, and the next place is left out.
    define v_place, v_row smallint;
    define v_rep varchar(10);
    define v_amount, v_before decimal(12,2);

    let v_place = 0;
    let v_row = 0;
    let v_before = null;
    foreach
        select rep, sum(amount) s
          into v_rep, v_amount
          from sales
         where sold between mdy(1, 1, p_year) and mdy(12, 31, p_year)
         group by rep
         order by s desc, rep
        let v_row = v_row + 1;
        if v_before is null or v_amount < v_before then
            let v_place = v_row;
            let v_before = v_amount;
        end if;
        if v_place > p_places then
            exit foreach;
        end if;
        return v_place, v_rep, v_amount with resume;
    end foreach;
end procedure;

create procedure quarters(p_year smallint)
    returning char(5), decimal(10,2), decimal(10,2), decimal(10,2), decimal(10,2);
    define v_region char(5);
    define q1, q2, q3, q4 decimal(10,2);
    foreach
        select region,
               sum(case when month(sold) between 1 and 3 then amount else 0 end),
               sum(case when month(sold) between 4 and 6 then amount else 0 end),
               sum(case when month(sold) between 7 and 9 then amount else 0 end),
               sum(case when month(sold) > 9 then amount else 0 end)
          into v_region, q1, q2, q3, q4
          from sales
         where year(sold) = p_year
         group by region
         order by region
        return v_region, q1, q2, q3, q4 with resume;
    end foreach;
end procedure;

CREATE PROCEDURE amount_statistics(p_year SMALLINT)
    RETURNING INTEGER AS n, DECIMAL(12,2) AS mean, DECIMAL(12,2) AS median, DECIMAL(12,2) AS deviation,
              DECIMAL(12,2) AS modal;
    DEFINE v_n, v_skip INTEGER;
    DEFINE v_mean, v_a, v_b, v_mode DECIMAL(12,2);
    DEFINE v_x DECIMAL(12,2);
    DEFINE v_squares DECIMAL(24,4);
    DEFINE v_deviation FLOAT;

    ON EXCEPTION IN (-206)
    END EXCEPTION WITH RESUME;

    DROP TABLE t_amounts;
    SELECT amount FROM sales WHERE YEAR(sold) = p_year INTO TEMP t_amounts WITH NO LOG;
    CREATE INDEX ix_t_amounts ON t_amounts (amount);

    SELECT COUNT(*), AVG(amount) INTO v_n, v_mean FROM t_amounts;
    IF v_n = 0 THEN
        RETURN 0, NULL, NULL, NULL, NULL;
    END IF;

    -- the middle one, or the mean of the two in the middle
    LET v_skip = TRUNC((v_n - 1) / 2);
    FOREACH SELECT SKIP v_skip FIRST 1 amount INTO v_a FROM t_amounts ORDER BY amount
    END FOREACH;
    LET v_b = v_a;
    IF MOD(v_n, 2) = 0 THEN
        LET v_skip = v_skip + 1;
        FOREACH SELECT SKIP v_skip FIRST 1 amount INTO v_b FROM t_amounts ORDER BY amount
        END FOREACH;
    END IF;

    LET v_squares = 0;
    FOREACH SELECT amount INTO v_x FROM t_amounts
        LET v_squares = v_squares + (v_x - v_mean) * (v_x - v_mean);
    END FOREACH;
    LET v_deviation = SQRT(v_squares / v_n);

    FOREACH SELECT FIRST 1 amount, COUNT(*) INTO v_mode, v_skip
              FROM t_amounts GROUP BY amount ORDER BY 2 DESC, 1
    END FOREACH;
    DROP TABLE t_amounts;
    RETURN v_n, v_mean, (v_a + v_b) / 2, ROUND(v_deviation, 2), v_mode;
END PROCEDURE;

create procedure buckets(p_year smallint, p_width integer)
    returning integer as low, integer as n, varchar(20) as bar;
    -- Empty buckets between others are shown, too.
    define v_low, v_n, i integer;
    define v_min, v_max decimal(10,2);
    define v_bar varchar(20);

    select min(amount), max(amount) into v_min, v_max from sales where year(sold) = p_year;
    if v_min is null then
        return;
    end if;
    let v_low = trunc(v_min / p_width) * p_width;
    while v_low <= v_max
        select count(*) into v_n
          from sales
         where year(sold) = p_year and amount >= v_low and amount < v_low + p_width;
        let v_bar = '';
        for i = 1 to 20
            if i > v_n then
                exit for;
            end if;
            let v_bar = v_bar || '*';
        end for;
        return v_low, v_n, v_bar with resume;
        let v_low = v_low + p_width;
    end while;
end procedure;

CREATE FUNCTION cumulated(p_limit DECIMAL(12,2)) RETURNING INTEGER, DECIMAL(12,2), DECIMAL(12,2);
    -- Sales in the order of their days until the limit is passed.
    DEFINE v_no INTEGER;
    DEFINE v_amount, v_sum DECIMAL(12,2);
    LET v_sum = 0;
    FOREACH SELECT sale_no, amount INTO v_no, v_amount FROM sales ORDER BY sold, sale_no
        LET v_sum = v_sum + v_amount;
        RETURN v_no, v_amount, v_sum WITH RESUME;
        EXIT FOREACH WHEN v_sum > p_limit;
    END FOREACH;
END FUNCTION;

-- 400 of 650 is 61.54 %, 450 of 850 is 52.94 %
execute function sales_report(2026);
--> East |Ann|400.00|61.5|
--> East |Bo|250.00|38.5|
--> East ||650.00|100.0|
--> West |Cy|450.00|52.9|
--> West |Di|400.00|47.1|
--> West ||850.00|100.0|
--> ||1500.00||
execute function sales_report(2024);
--> ||0.00||
execute procedure top_reps(2026, 2);
--> 1|Cy|450.00|
--> 2|Ann|400.00|
--> 2|Di|400.00|
-- Bo is fourth: two are second
execute procedure top_reps(2026);
--> 1|Cy|450.00|
--> 2|Ann|400.00|
--> 2|Di|400.00|
execute procedure top_reps(2026, 4);
--> 1|Cy|450.00|
--> 2|Ann|400.00|
--> 2|Di|400.00|
--> 4|Bo|250.00|
execute procedure quarters(2026);
--> East |350.00|300.00|0.00|0.00|
--> West |400.00|0.00|50.00|400.00|
-- 50, 100, 250, 300, 400, 400: mean 1500 / 6, median (250 + 300) / 2,
-- squares 40000 + 22500 + 0 + 2500 + 22500 + 22500 = 110000, the root of a sixth is 135.40
execute procedure amount_statistics(2026);
--> 6|250.00|275.00|135.40|400.00|
execute procedure amount_statistics(2025);
--> 1|999.00|999.00|0.00|999.00|
execute procedure amount_statistics(2024);
--> 0|||||
execute procedure buckets(2026, 75);
--> 0|1|*|
--> 75|1|*|
--> 150|0||
--> 225|1|*|
--> 300|1|*|
--> 375|2|**|
-- 999 is first, of 2025
execute function cumulated(1100);
--> 7|999.00|999.00|
--> 1|100.00|1099.00|
--> 4|400.00|1499.00|
-- the totals of several years, read by another routine
create procedure best_year() returning smallint;
    define v_year, v_best smallint;
    define v_region char(5);
    define v_rep varchar(10);
    define v_sum, v_most decimal(12,2);
    define v_share decimal(5,1);
    let v_most, v_best = 0, null;
    for v_year = 2024 to 2026
        foreach execute function sales_report(v_year) into v_region, v_rep, v_sum, v_share
            if v_region is null and v_sum > v_most then
                let v_most = v_sum;
                let v_best = v_year;
            end if;
        end foreach;
    end for;
    return v_best;
end procedure;
execute procedure best_year();
--> 2026|
