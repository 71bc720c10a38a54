-- Cards: authorizations with limits by day and month, points of suspicion, holds that are taken or expire, disputes.

CREATE TABLE card (card CHAR(16) PRIMARY KEY CONSTRAINT pk_card, acct INTEGER, valid_to DATE, state CHAR(1),
                   day_limit DECIMAL(10,2), month_limit DECIMAL(10,2), home CHAR(2), tries SMALLINT DEFAULT 0);
CREATE TABLE card_acct (acct INTEGER PRIMARY KEY, bal DECIMAL(12,2), overdraft DECIMAL(10,2) DEFAULT 0,
                        CHECK (bal + overdraft >= 0) CONSTRAINT ck_overdraft);
CREATE TABLE hold (hold SERIAL(1) NOT NULL PRIMARY KEY, card CHAR(16), at DATETIME YEAR TO SECOND, amt DECIMAL(10,2), shop INTEGER,
                   country CHAR(2), state CHAR(1) DEFAULT 'H', score SMALLINT);
CREATE TABLE shop_risk (shop INTEGER PRIMARY KEY, mcc SMALLINT, points SMALLINT);
CREATE TABLE rule (nr SMALLINT, name VARCHAR(12), points SMALLINT, active CHAR(1));
CREATE TABLE decline (card CHAR(16), at DATETIME YEAR TO SECOND, code CHAR(2), detail VARCHAR(40));
INSERT INTO card_acct VALUES (1, 500, 100);
INSERT INTO card_acct VALUES (2, 5000, 0);
INSERT INTO card VALUES ('4000000000000001', 1, MDY(6,30,2027), 'A', 400, 1000, 'GB', 0);
INSERT INTO card VALUES ('4000000000000002', 2, MDY(6,30,2027), 'A', 1000, 1500, 'GB', 2);
INSERT INTO card VALUES ('4000000000000003', 2, MDY(1,31,2026), 'A', 1000, 1500, 'GB', 0);
INSERT INTO card VALUES ('4000000000000004', 2, MDY(6,30,2027), 'S', 1000, 1500, 'GB', 0);
INSERT INTO shop_risk VALUES (10, 5411, 0);
INSERT INTO shop_risk VALUES (20, 7995, 40);
INSERT INTO rule VALUES (1, 'ABROAD', 30, 'Y');
INSERT INTO rule VALUES (2, 'FAST', 35, 'Y');
INSERT INTO rule VALUES (3, 'NIGHT', 10, 'Y');
INSERT INTO rule VALUES (4, 'ROUND', 5, 'N');
INSERT INTO rule VALUES (5, 'LARGE', 25, 'Y');
INSERT INTO rule VALUES (6, 'SHOP', NULL, 'Y');
INSERT INTO rule VALUES (7, 'JUMP', 50, 'Y');

CREATE FUNCTION is_luhn (p_card VARCHAR(19)) RETURNING BOOLEAN;
  -- the check digit: every second digit from the right is doubled, the sum is a multiple of ten
  DEFINE i, n, d SMALLINT;
  LET n = 0;
  FOR i = 1 TO LENGTH(p_card)
    LET d = SUBSTR(p_card, LENGTH(p_card) - i + 1, 1);
    IF MOD(i, 2) = 0 THEN
      LET d = d * 2;
      IF d > 9 THEN LET d = d - 9; END IF
    END IF
    LET n = n + d;
  END FOR
  IF MOD(n, 10) = 0 THEN RETURN 't'; END IF
  RETURN 'f';
END FUNCTION;

CREATE PROCEDURE authorize (p_card CHAR(16), p_amt DECIMAL(10,2), p_shop INTEGER, p_country CHAR(2),
                            p_at DATETIME YEAR TO SECOND, p_pin_ok BOOLEAN DEFAULT 't')
  RETURNING CHAR(2) AS code, INTEGER AS hold, SMALLINT AS score, VARCHAR(40) AS detail;

  --+--------------------------------------------------------------------+
  --| Codes                                                               |
  --|   00 yes            05 no (suspicion)   14 no such card             |
  --|   33 expired        51 no money         55 wrong PIN                |
  --|   61 above a limit  62 stopped          75 too many tries           |
  --| Points are added by the rules that are active; from 60 on the       |
  --| answer is no, from 40 on only small amounts are allowed.            |
  --+--------------------------------------------------------------------+

  DEFINE c_acct                INTEGER;
  DEFINE c_valid               DATE;
  DEFINE c_state               CHAR(1);
  DEFINE c_day, c_month        DECIMAL(10,2);
  DEFINE c_home                CHAR(2);
  DEFINE c_tries               SMALLINT;
  DEFINE v_code                CHAR(2);
  DEFINE v_detail              VARCHAR(40);
  DEFINE v_hold                INTEGER;
  DEFINE v_score, v_points     SMALLINT;
  DEFINE v_rule                VARCHAR(12);
  DEFINE v_hit                 BOOLEAN;
  DEFINE v_today, v_this_month DECIMAL(12,2);
  DEFINE v_avg, v_left         DECIMAL(12,2);
  DEFINE v_n                   INTEGER;
  DEFINE v_last_at             DATETIME YEAR TO SECOND;
  DEFINE v_last_country        CHAR(2);
  DEFINE v_gap                 INTERVAL HOUR(5) TO SECOND;
  DEFINE v_hour                DATETIME HOUR TO HOUR;
  DEFINE e_sql, e_isam         INTEGER;
  DEFINE e_text                VARCHAR(40);

  LET v_code, v_detail, v_hold, v_score = '00', NULL, NULL, 0;
  LET c_acct = NULL;

  BEGIN WORK;
  BEGIN
    ON EXCEPTION IN (-530) SET e_sql, e_isam, e_text
      IF e_text LIKE '%ck_overdraft' THEN
        LET v_code, v_detail = '51', 'balance';
      ELSE
        RAISE EXCEPTION e_sql, e_isam, e_text;
      END IF
    END EXCEPTION
    ON EXCEPTION IN (-746) SET e_sql, e_isam, e_text
      -- a decision: the ISAM code is the answer
      LET v_code, v_detail = LPAD(e_isam, 2, '0'), e_text;
    END EXCEPTION

    IF p_card MATCHES '*[^0-9]*' OR NOT is_luhn(p_card) THEN
      RAISE EXCEPTION -746, 14, 'number';
    END IF
    SELECT acct, valid_to, state, day_limit, month_limit, home, NVL(tries, 0)
      INTO c_acct, c_valid, c_state, c_day, c_month, c_home, c_tries
      FROM card WHERE card = p_card;
    IF c_acct IS NULL THEN
      RAISE EXCEPTION -746, 14, 'unknown';
    ELIF c_state <> 'A' THEN
      RAISE EXCEPTION -746, 62, 'state ' || c_state;
    ELIF c_valid < DATE(p_at) THEN
      RAISE EXCEPTION -746, 33, 'until ' || TO_CHAR(c_valid, '%m/%y');
    ELIF c_tries >= 3 THEN
      RAISE EXCEPTION -746, 75;
    END IF

    IF NOT p_pin_ok THEN
      UPDATE card SET tries = tries + 1 WHERE card = p_card;
      RAISE EXCEPTION -746, 55, 'try ' || c_tries + 1;
    ELIF c_tries > 0 THEN
      UPDATE card SET tries = 0 WHERE card = p_card;
    END IF

    -- limits
    SELECT NVL(SUM(CASE WHEN DATE(at) = DATE(p_at) THEN amt ELSE 0 END), 0), NVL(SUM(amt), 0), COUNT(*), AVG(amt)
      INTO v_today, v_this_month, v_n, v_avg
      FROM hold
     WHERE card = p_card AND state IN ('H', 'T')
       AND EXTEND(at, YEAR TO MONTH) = EXTEND(p_at, YEAR TO MONTH);
    LET v_left = c_day - v_today;
    IF p_amt > v_left THEN
      RAISE EXCEPTION -746, 61, 'day: ' || v_left || ' left';
    END IF
    LET v_left = c_month - v_this_month;
    IF p_amt > v_left THEN
      RAISE EXCEPTION -746, 61, 'month: ' || v_left || ' left';
    END IF

    -- suspicion
    FOREACH SELECT FIRST 1 at, country INTO v_last_at, v_last_country
              FROM hold WHERE card = p_card AND at <= p_at ORDER BY at DESC
      LET v_gap = p_at - v_last_at;
    END FOREACH
    LET v_hour = p_at;
    FOREACH SELECT name, points INTO v_rule, v_points FROM rule WHERE active = 'Y' ORDER BY nr
      LET v_hit = 'f';
      CASE v_rule
        WHEN 'ABROAD' THEN IF p_country <> c_home THEN LET v_hit = 't'; END IF
        WHEN 'FAST'   THEN IF v_last_at IS NOT NULL AND v_gap < INTERVAL (60) SECOND TO SECOND THEN LET v_hit = 't'; END IF
        WHEN 'NIGHT'  THEN IF v_hour < DATETIME (05) HOUR TO HOUR THEN LET v_hit = 't'; END IF
        WHEN 'ROUND'  THEN IF MOD(p_amt, 100) = 0 THEN LET v_hit = 't'; END IF
        WHEN 'LARGE'  THEN IF v_n >= 2 AND p_amt > 3 * v_avg THEN LET v_hit = 't'; END IF
        WHEN 'SHOP'   THEN
          LET v_points = (SELECT points FROM shop_risk WHERE shop = p_shop);
          IF NVL(v_points, 15) > 0 THEN
            LET v_hit = 't';
            LET v_points = NVL(v_points, 15);           -- a shop that nobody knows
          END IF
        WHEN 'JUMP'   THEN
          IF v_last_country IS NOT NULL AND v_last_country <> p_country AND v_gap < 2 UNITS HOUR THEN
            LET v_hit = 't';
          END IF
      END CASE
      IF v_hit THEN
        LET v_score = v_score + v_points;
        LET v_detail = TRIM(NVL(v_detail || ' ', '') || v_rule);
      END IF
    END FOREACH
    IF v_score >= 60 OR (v_score >= 40 AND p_amt > 50) THEN
      RAISE EXCEPTION -746, 5, v_detail;
    END IF

    -- the money
    UPDATE card_acct SET bal = bal - p_amt WHERE acct = c_acct;
    INSERT INTO hold (hold, card, at, amt, shop, country, score)
    VALUES (0, p_card, p_at, p_amt, p_shop, p_country, v_score);
    LET v_hold = DBINFO('sqlca.sqlerrd1');
  END

  IF v_code <> '00' THEN
    INSERT INTO decline VALUES (p_card, p_at, v_code, NVL(v_detail, '-'));
  END IF
  COMMIT WORK;
  RETURN v_code, v_hold, v_score, v_detail;
END PROCEDURE;

create procedure end_holds (p_now datetime year to second, p_days smallint default 7)
  returning integer as taken, integer as freed, decimal(12,2) as amt;
  -- A hold is taken by the shop's file (state T); one that nobody took is freed after some days.
  define v_hold, v_acct, v_freed, v_taken integer;
  define v_amt, v_sum decimal(12,2);
  define v_before datetime year to second;

  let v_freed, v_sum = 0, 0;
  let v_before = p_now - p_days units day;
  begin work;
  foreach c_hold for
    select hold, amt, (select acct from card where card.card = hold.card)
      into v_hold, v_amt, v_acct
      from hold
     where state = 'H' and at < v_before
    update card_acct set bal = bal + v_amt where acct = v_acct;
    update hold set state = 'F' where current of c_hold;
    let v_freed, v_sum = v_freed + 1, v_sum + v_amt;
  end foreach;
  commit work;
  select count(*) into v_taken from hold where state = 'T';
  return v_taken, v_freed, v_sum;
end procedure;

-- Luhn: 4 at the left is doubled (16 digits), 8; the last digit must be 2 for a sum of 10
select is_luhn('4000000000000002'), is_luhn('4000000000000001'), is_luhn('79927398713') from sysmaster:sysdual;
--> True|False|True|
update card set card = '4111111111111111' where card = '4000000000000001';
update card set card = '4000000000000010' where card = '4000000000000003';
update card set card = '4000000000000028' where card = '4000000000000004';
execute procedure authorize('4000000000000001', 1, 10, 'GB', '2026-03-02 12:00:00');
--> 14||0|number|
execute procedure authorize('400000000000000x', 1, 10, 'GB', '2026-03-02 12:00:00');
--> 14||0|number|
execute procedure authorize('4000000000000010', 1, 10, 'GB', '2026-03-02 12:00:00');
--> 33||0|until 01/26|
execute procedure authorize('4000000000000028', 1, 10, 'GB', '2026-03-02 12:00:00');
--> 62||0|state S|
execute procedure authorize('5000000000000009', 1, 10, 'GB', '2026-03-02 12:00:00');
--> 14||0|unknown|
-- 45.00 at noon; another one 30 s later; 29 s later in a shop with 40 points; 60.00 there is too much from 40 points on
execute procedure authorize('4111111111111111', 45, 10, 'GB', '2026-03-02 12:00:00');
--> 00|1|0||
execute procedure authorize('4111111111111111', 45, 10, 'GB', '2026-03-02 12:00:30');
--> 00|2|35|FAST|
execute procedure authorize('4111111111111111', 60, 20, 'GB', '2026-03-02 12:00:59');
--> 05||75|FAST SHOP|
execute procedure authorize('4111111111111111', 60, 20, 'GB', '2026-03-02 12:30:00');
--> 05||40|SHOP|
execute procedure authorize('4111111111111111', 50, 20, 'GB', '2026-03-02 12:30:00');
--> 00|3|40|SHOP|
-- 140.00 of 400.00; three times the mean of 46.67 is 140.01
execute procedure authorize('4111111111111111', 300, 10, 'GB', '2026-03-02 13:00:00');
--> 61||0|day: 260.00 left|
execute procedure authorize('4111111111111111', 200, 10, 'GB', '2026-03-02 13:00:00');
--> 00|4|25|LARGE|
-- half an hour later in France: 30 + 50; in the night in a shop that nobody knows: 30 + 10 + 15
execute procedure authorize('4111111111111111', 20, 10, 'FR', '2026-03-02 13:30:00');
--> 05||80|ABROAD JUMP|
execute procedure authorize('4111111111111111', 20, 99, 'FR', '2026-03-03 03:00:00');
--> 00|5|55|ABROAD NIGHT SHOP|
-- 500 - 360 = 140, of which 260 leave -120, and 240 leave -100; three times 72.00 are 216.00
execute procedure authorize('4111111111111111', 260, 10, 'GB', '2026-03-04 10:00:00');
--> 51||25|balance|
execute procedure authorize('4111111111111111', 240, 10, 'GB', '2026-03-04 10:05:00');
--> 00|6|25|LARGE|
select bal from card_acct where acct = 1;
--> -100.00|
select code, detail from decline where card = '4111111111111111' order by at;
--> 05|FAST SHOP|
--> 05|SHOP|
--> 61|day: 260.00 left|
--> 05|ABROAD JUMP|
--> 51|balance|
-- the third wrong PIN; then even the right one does not help
execute procedure authorize('4000000000000002', 5, 10, 'GB', '2026-03-02 12:00:00', 'f');
--> 55||0|try 3|
execute procedure authorize('4000000000000002', 5, 10, 'GB', '2026-03-02 12:01:00');
--> 75||0||
-- 1 and 3 are older than a week: 45 + 50; 2 was taken
update hold set state = 'T' where hold = 2;
execute procedure end_holds('2026-03-09 12:30:01');
--> 1|2|95.00|
select bal from card_acct where acct = 1;
--> -5.00|
-- 45 + 200 + 20 + 240 = 505 of the month; three times 126.25 are 378.75
update card_acct set bal = 1000 where acct = 1;
execute procedure authorize('4111111111111111', 380, 10, 'GB', '2026-03-20 12:00:00');
--> 00|7|25|LARGE|
execute procedure authorize('4111111111111111', 116, 10, 'GB', '2026-03-21 12:00:00');
--> 61||0|month: 115.00 left|
