-- Calls of a telephone company: zones by the longest prefix, tariffs by bands of the day, free seconds, bills.

create table zone_prefix (prefix varchar(8) primary key, zone char(3));
create table band (plan char(3), zone char(3), kind char(2), from_t datetime hour to minute,
                   to_t datetime hour to minute, per_min decimal(8,4), step_s smallint);
create table subscriber (msisdn varchar(15) primary key, plan char(3), free_s integer default 0);
create table cdr (cdr serial not null primary key, msisdn varchar(15), called varchar(20),
                  started datetime year to second, dur interval hour(4) to second,
                  zone char(3), charge decimal(10,4), status char(1) default 'N', reason varchar(40));
insert into zone_prefix values ('44', 'UK');
insert into zone_prefix values ('447', 'UKM');
insert into zone_prefix values ('33', 'FR');
insert into band values ('STD', 'UK', 'WD', '00:00', '08:00', 0.06, 60);
insert into band values ('STD', 'UK', 'WD', '08:00', '18:00', 0.12, 1);
insert into band values ('STD', 'UK', 'WD', '18:00', null, 0.06, 60);
insert into band values ('STD', 'UK', 'WE', '00:00', null, 0.03, 60);
insert into band values ('STD', 'UKM', 'WD', '00:00', null, 0.3, 30);
insert into subscriber values ('441000001', 'STD', 0);
insert into subscriber values ('441000002', 'STD', 90);
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000001', '00442079460', '2026-11-26 17:58:30', '0:04:00');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000001', '+44 20 7946', '2026-11-27 23:59:10', '0:02:00');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000002', '442079460', '2026-11-26 09:00:00', '0:02:15');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000002', '447700900', '2026-11-26 10:00:00', '0:00:31');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000002', '447700900', '2026-11-28 10:00:00', '0:01:00');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000002', '9990000', '2026-11-26 10:00:00', '0:00:31');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '440000000', '442079460', '2026-11-26 10:00:00', '0:00:31');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000001', '442079460', '2026-11-26 10:00:00', '0:00:00');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000001', '442079460', '2026-11-26 10:00:00', '-0:00:05');
insert into cdr (cdr, msisdn, called, started, dur) values (0, '441000001', '442079460', '2026-11-26 07:00:00', '12:00:00');

create function zone_of(p_called varchar(20)) returning char(3);
    -- "+44 20", "0044 20" and "4420" are the same number
    define v_num varchar(20);
    define v_zone char(3);
    define i smallint;

    let v_num = replace(replace(p_called, ' ', ''), '+', '00');
    if v_num[1,2] = '00' then
        let v_num = substr(v_num, 3);
    end if;
    if length(v_num) = 0 then       -- the loop would be -683
        return null;
    end if;
    for i = length(v_num) to 1 step -1
        select zone into v_zone from zone_prefix where prefix = substr(v_num, 1, i);
        if v_zone is not null then
            exit for;
        end if;
    end for;
    return v_zone;
end function;

CREATE FUNCTION seconds_of(p_dur INTERVAL HOUR(4) TO SECOND) RETURNING INTEGER;
    DEFINE v_s INTERVAL SECOND(8) TO SECOND;
    LET v_s = p_dur;
    RETURN v_s::CHAR(12)::INTEGER;
END FUNCTION;

CREATE PROCEDURE rate_cdr ( p_cdr INTEGER )
  RETURNING DECIMAL(10,4) AS charge, SMALLINT AS bands;

  {*************************************************************************
   * Rates one call. It is cut where the tariff changes: at the end of     *
   * a band of the day, and at midnight. Each piece is rounded up to the   *
   * step of its band. Free seconds are those at the beginning.            *
   *************************************************************************}

  DEFINE v_msisdn          VARCHAR(15);
  DEFINE v_called          VARCHAR(20);
  DEFINE v_plan, v_zone    CHAR(3);
  DEFINE v_start, v_end    DATETIME YEAR TO SECOND;
  DEFINE v_time            DATETIME HOUR TO MINUTE;
  DEFINE v_to              DATETIME HOUR TO MINUTE;
  DEFINE v_dur             INTERVAL HOUR(4) TO SECOND;
  DEFINE v_left, v_piece   INTEGER;
  DEFINE v_free, v_used    INTEGER;
  DEFINE v_step, v_bands   SMALLINT;
  DEFINE v_min             DECIMAL(8,4);
  DEFINE v_charge          DECIMAL(16,8);
  DEFINE v_kind            CHAR(2);
  DEFINE v_status          CHAR(1);

  SELECT msisdn, called, started, dur, status
    INTO v_msisdn, v_called, v_start, v_dur, v_status
    FROM cdr
   WHERE cdr = p_cdr;
  IF v_status IS NULL THEN
    RAISE EXCEPTION -746, 1, 'no call ' || p_cdr;
  END IF
  IF v_status = 'R' THEN
    RAISE EXCEPTION -746, 2, 'call ' || p_cdr || ' is rated';
  END IF

  SELECT plan, free_s INTO v_plan, v_free FROM subscriber WHERE msisdn = v_msisdn;
  IF DBINFO('sqlca.sqlerrd2') = 0 THEN
    RAISE EXCEPTION -746, 3, 'no subscriber ' || v_msisdn;
  END IF

  LET v_zone = zone_of(v_called);
  IF v_zone IS NULL THEN
    RAISE EXCEPTION -746, 4, 'no zone for ' || v_called;
  END IF
  IF v_dur < INTERVAL (0:00:00) HOUR TO SECOND THEN
    RAISE EXCEPTION -746, 5, 'duration ' || trim(v_dur::char(20));
  END IF

  LET v_left   = seconds_of(v_dur);
  LET v_charge = 0;
  LET v_bands  = 0;
  LET v_used   = 0;
  IF v_free > 0 THEN                              -- the free seconds
    LET v_used = CASE WHEN v_free > v_left THEN v_left ELSE v_free END;
    LET v_left = v_left - v_used;
    LET v_start = v_start + v_used UNITS SECOND;
  END IF

  WHILE v_left > 0
    IF WEEKDAY(v_start) = 0 OR WEEKDAY(v_start) = 6
      THEN LET v_kind = 'WE';
      ELSE LET v_kind = 'WD';
    END IF
    LET v_time = EXTEND(v_start, HOUR TO MINUTE);
    LET v_min = NULL;
    FOREACH SELECT per_min, step_s, to_t INTO v_min, v_step, v_to
              FROM band
             WHERE plan = v_plan AND zone = v_zone AND kind = v_kind
               AND from_t <= v_time AND (to_t > v_time OR to_t IS NULL)
      EXIT FOREACH;
    END FOREACH
    IF v_min IS NULL THEN
      RAISE EXCEPTION -746, 6, 'no band of ' || v_plan || '/' || v_zone || ' ' || v_kind || ' at ' || v_time;
    END IF

    LET v_end = EXTEND(EXTEND(v_start, YEAR TO DAY), YEAR TO SECOND);   -- 00:00:00
    IF v_to IS NULL THEN
      LET v_end = v_end + INTERVAL (1) DAY TO DAY;
    ELSE
      LET v_end = v_end + (v_to - DATETIME (00:00) HOUR TO MINUTE);
    END IF
    LET v_dur   = v_end - v_start;
    LET v_piece = seconds_of(v_dur);
    IF v_piece > v_left THEN
      LET v_piece = v_left;
    END IF

    LET v_charge = v_charge + v_min * CEIL(v_piece / v_step) * v_step / 60;
    LET v_bands  = v_bands + 1;
    LET v_left   = v_left - v_piece;
    LET v_start  = v_end;
  END WHILE

  UPDATE cdr SET zone = v_zone, charge = ROUND(v_charge, 4), status = 'R', reason = NULL WHERE cdr = p_cdr;
  IF v_used > 0 THEN
    UPDATE subscriber SET free_s = free_s - v_used WHERE msisdn = v_msisdn;
  END IF
  RETURN ROUND(v_charge, 4), v_bands;
END PROCEDURE;

create procedure rate_all (p_date date)
   returning char(3) as zone, integer as calls, char(12) as duration, decimal(12,4) as charge;
   -- Rates what is new up to a day, then the totals of the zones; a call that cannot be rated gets its reason.
   define v_cdr, v_calls, v_bad integer;
   define v_code, v_isam integer;
   define v_text varchar(40);
   define v_charge, v_sum decimal(12,4);
   define v_bands smallint;
   define v_zone, v_last char(3);
   define v_dur, v_total interval hour(4) to second;

   let v_bad = 0;
   foreach c_new with hold for
      select cdr into v_cdr from cdr
       where status = 'N' and started < extend(p_date + 1, year to second) order by cdr
      begin
         on exception in (-746) set v_code, v_isam, v_text
            rollback work;
            update cdr set status = 'E', reason = v_isam || ' ' || v_text where cdr = v_cdr;
            let v_bad = v_bad + 1;
         end exception;
         begin work;
         call rate_cdr(v_cdr) returning v_charge, v_bands;
         commit work;
      end
   end foreach;

   let v_calls, v_sum, v_last = 0, 0, null;
   let v_total = interval (0:00:00) hour to second;
   foreach
      select zone, dur, charge into v_zone, v_dur, v_charge
        from cdr where status = 'R' order by zone, cdr
      if v_zone <> v_last then
         return v_last, v_calls, ltrim(v_total::char(20)), v_sum with resume;
         let v_calls, v_sum = 0, 0;
         let v_total = v_total - v_total;
      end if;
      let v_last  = v_zone;
      let v_calls = v_calls + 1;
      let v_total = v_total + v_dur;
      let v_sum   = v_sum + v_charge;
   end foreach;
   if v_calls > 0 then
      return v_last, v_calls, ltrim(v_total::char(20)), v_sum with resume;
   end if;
   if v_bad > 0 then
      return '***', v_bad, null, null with resume;
   end if;
end procedure;

select zone_of('+44 7700'), zone_of('0044 20'), zone_of('33'), zone_of('3'), zone_of(' + ') from sysmaster:sysdual;
--> UKM|UK |FR |||
select seconds_of('1:01:01'), seconds_of('-0:00:05'), seconds_of('100:00:00') from sysmaster:sysdual;
--> 3661|-5|360000|
execute procedure rate_cdr(99);
--> error -746, 1, no call 99
-- a Thursday: 90 s to 18:00 are 0.18; 150 s behind it are 3 minutes, 0.18
execute procedure rate_cdr(1);
--> 0.3600|2|
execute procedure rate_cdr(1);
--> error -746, 2, call 1 is rated
-- 26 November is a Thursday. 2: 50 s on Friday, 1 minute of 0.06; 70 s on Saturday, 2 minutes of 0.03
-- 3: 90 s are free; 45 s of 0.12 a minute; 4: 31 s are 60 s of 0.30; 8: nothing
-- 10: 7:00 to 8:00 are 3.60, 10 hours 72.00, 18:00 to 19:00 again 3.60
execute procedure rate_all(mdy(11, 26, 2026));
--> UK |4|12:06:15    |79.6500|
--> UKM|1|0:00:31     |0.3000|
--> ***|3|||
select cdr, charge, status, reason from cdr where started < '2026-11-27 00:00:00' order by cdr;
--> 1|0.3600|R||
--> 3|0.0900|R||
--> 4|0.3000|R||
--> 6||E|4 no zone for 9990000|
--> 7||E|3 no subscriber 440000000|
--> 8|0.0000|R||
--> 9||E|5 duration -0:00:05|
--> 10|79.2000|R||
select free_s from subscriber where msisdn = '441000002';
--> 0|
execute procedure rate_all(mdy(11, 30, 2026));
--> UK |5|12:08:15    |79.7700|
--> UKM|1|0:00:31     |0.3000|
--> ***|1|||
select cdr, charge, reason from cdr where cdr in (2, 5) order by cdr;
--> 2|0.1200||
--> 5||6 no band of STD/UKM WE at 10:00|
