-- Stock taking: a frozen list, two counts by different people, differences, values at moving averages, postings, a report.

create table bin (bin char(6) primary key, art integer, qty integer, check (qty >= 0) constraint ck_bin);
create table article (art integer primary key constraint pk_article, name varchar(20), avg_cost decimal(10,4), class char(1),
                      parent integer, foreign key (parent) references article (art) constraint fk_parent);
create table take (take serial(70) primary key, day date, state char(1), user_id varchar(32));
create table take_line (take integer, bin char(6), art integer, frozen integer, count1 integer, by1 char(3),
                        count2 integer, by2 char(3), result integer, note varchar(40),
                        primary key (take, bin) constraint pk_take_line);
create table stock_post (nr serial, art integer, qty integer, amt decimal(12,2), txt varchar(40));
create view bin_value as
  select b.bin as bin, b.art as art, b.qty * nvl(a.avg_cost, 0) as amt from bin b, article a where a.art = b.art;
insert into article values (1, 'Pump', 120.5, 'A', null);
insert into article values (2, 'Hose', 3.3333, 'C', null);
insert into article values (3, 'Clamp', 0.25, 'C', 2);
insert into article values (4, 'Valve', null, 'B', null);
insert into bin values ('A-01', 1, 10);
insert into bin values ('A-02', 1, 5);
insert into bin values ('B-01', 2, 300);
insert into bin values ('B-02', 3, 1000);
insert into bin values ('C-01', 4, 7);
insert into bin values ('C-02', 4, 0);

CREATE FUNCTION tolerance (p_class CHAR(1), p_qty INTEGER) RETURNING INTEGER WITH (NOT VARIANT);
  -- A nothing, B one piece, C one per cent, at least two
  CASE p_class
    WHEN 'A' THEN RETURN 0;
    WHEN 'B' THEN RETURN 1;
    WHEN 'C' THEN
      IF p_qty / 100 > 2 THEN
        RETURN TRUNC(p_qty / 100);
      END IF;
      RETURN 2;
    ELSE RETURN NULL;
  END CASE;
END FUNCTION;

create procedure open_take (p_day date, p_bins varchar(10) default '*') returning integer as take, integer as lines;
  -- freezes what is in the bins that match
  define v_take integer;
  define v_n integer;

  on exception in (-746, -268)
    rollback work;
    return null, 0;
  end exception

  begin work;
  lock table take in exclusive mode;
  if exists (select * from take where state = 'O') then
    raise exception -746, 0, 'there is an open one';
  end if
  insert into take (take, day, state, user_id) values (0, p_day, 'O', user);
  let v_take = dbinfo('sqlca.sqlerrd1');
  insert into take_line (take, bin, art, frozen)
    select v_take, bin, art, qty from bin where bin matches p_bins;
  let v_n = dbinfo('sqlca.sqlerrd2');
  if v_n = 0 then
    raise exception -746, 0, 'no such bins';
  end if
  commit work;
  return v_take, v_n;
end procedure;

CREATE PROCEDURE count_bin (p_bin CHAR(6), p_who CHAR(3), p_qty INTEGER, OUT p_state VARCHAR(20))
  /* The first count, or the second, which must be somebody else's. A third one replaces both
     if they differ. The state says what is to do next. */
  DEFINE l ROW(take INTEGER, frozen INTEGER, count1 INTEGER, by1 CHAR(3), count2 INTEGER, by2 CHAR(3));
  DEFINE v_take, v_tol INTEGER;
  DEFINE v_class CHAR(1);

  LET p_state = 'unknown bin';
  SELECT take INTO v_take FROM take WHERE state = 'O';
  LET l = ROW(NULL, NULL, NULL, NULL, NULL, NULL);
  SELECT t.take, t.frozen, t.count1, t.by1, t.count2, t.by2, a.class
    INTO l.take, l.frozen, l.count1, l.by1, l.count2, l.by2, v_class
    FROM take_line t, article a
   WHERE t.take = v_take AND t.bin = p_bin AND a.art = t.art;
  IF l.take IS NULL THEN
    RETURN;
  END IF;
  LET v_tol = tolerance(v_class, l.frozen);

  IF l.count1 IS NULL THEN
    UPDATE take_line SET count1 = p_qty, by1 = p_who WHERE take = v_take AND bin = p_bin;
    IF ABS(p_qty - l.frozen) <= v_tol THEN
      UPDATE take_line SET result = p_qty WHERE take = v_take AND bin = p_bin;
      LET p_state = 'done';
    ELSE
      LET p_state = 'count again';
    END IF;
  ELIF l.count2 IS NULL THEN
    IF p_who = l.by1 THEN
      LET p_state = 'somebody else';
      RETURN;
    END IF;
    UPDATE take_line SET count2 = p_qty, by2 = p_who WHERE take = v_take AND bin = p_bin;
    IF ABS(p_qty - l.count1) <= v_tol THEN
      UPDATE take_line SET result = p_qty, note = 'twice' WHERE take = v_take AND bin = p_bin;
      LET p_state = 'done';
    ELSE
      LET p_state = 'third count';
    END IF;
  ELSE
    UPDATE take_line SET result = p_qty, note = 'third by ' || p_who WHERE take = v_take AND bin = p_bin;
    LET p_state = 'done';
  END IF;
END PROCEDURE;

create procedure counts (p_list lvarchar(400)) returning char(6) as bin, varchar(20) as state;
  -- "A-01 JIM 10; A-02 ANN 5": one count after another
  define v_rest lvarchar(400);
  define v_one varchar(40);
  define v_bin char(6);
  define v_who char(3);
  define v_state varchar(20);
  define i integer;
  let v_rest = p_list || ';';
  loop
    let i = instr(v_rest, ';');
    exit when i = 0;
    let v_one = trim(substr(v_rest, 1, i - 1));
    let v_rest = substr(v_rest, i + 1);
    continue when v_one is null or length(v_one) = 0;
    let i = instr(v_one, ' ');
    let v_bin = substr(v_one, 1, i - 1);
    let v_who = substr(v_one, i + 1, 3);
    let v_one = substr(v_one, i + 5);
    call count_bin(v_bin, v_who, v_one, v_state);
    return v_bin, v_state with resume;
  end loop;
end procedure;

CREATE PROCEDURE close_take (p_limit DECIMAL(10,2) DEFAULT 1000.00, p_force BOOLEAN DEFAULT 'f')
  RETURNING INTEGER AS art, VARCHAR(20) AS name, INTEGER AS diff, DECIMAL(12,2) AS amt, VARCHAR(40) AS note;

{ -----------------------------------------------------------------------------------------------------
  Ends the open stock take:
    1. every line needs a result; with p_force what was frozen is taken for those without
    2. bins get what was counted, unless they have moved since: then the difference is booked
    3. one posting for each article with a difference, at its moving average; without one at the
       mean of its class, weighted by pieces
    4. if all postings together exceed the limit, nothing of it is done
  A row for each article, and a last one for all.
  ----------------------------------------------------------------------------------------------------- }

  DEFINE v_take, v_open                  INTEGER;
  DEFINE v_art, v_last, v_diff, v_sum    INTEGER;
  DEFINE v_bin                           CHAR(6);
  DEFINE v_result, v_frozen, v_now       INTEGER;
  DEFINE v_name                          VARCHAR(20);
  DEFINE v_class                         CHAR(1);
  DEFINE v_cost                          DECIMAL(10,4);
  DEFINE v_amt, v_all, v_abs             DECIMAL(12,2);
  DEFINE v_note                          VARCHAR(40);
  DEFINE v_moved                         SMALLINT;
  DEFINE e1, e2                          INTEGER;
  DEFINE e3                              VARCHAR(40);

  ON EXCEPTION IN (-530, -746) SET e1, e2, e3
    ROLLBACK WORK;
    RETURN NULL, 'not closed', NULL, NULL, e3;
  END EXCEPTION

  BEGIN WORK;
  SELECT take INTO v_take FROM take WHERE state = 'O';
  IF v_take IS NULL THEN
    RAISE EXCEPTION -746, 0, 'no open one';
  END IF

  -- 1
  SELECT COUNT(*) INTO v_open FROM take_line WHERE take = v_take AND result IS NULL;
  IF v_open > 0 AND NOT p_force THEN
    RAISE EXCEPTION -746, v_open, v_open || ' bins without a result';
  END IF
  UPDATE take_line SET (result, note) = (frozen, 'not counted') WHERE take = v_take AND result IS NULL;

  -- 2
  FOREACH c_line FOR
    SELECT bin, result, frozen INTO v_bin, v_result, v_frozen FROM take_line WHERE take = v_take
    LET v_now = (SELECT qty FROM bin WHERE bin = v_bin);
    CONTINUE FOREACH WHEN v_result = v_frozen;
    UPDATE bin SET qty = qty + v_result - v_frozen WHERE bin = v_bin;
    IF v_now <> v_frozen THEN
      UPDATE take_line SET note = TRIM(NVL(note, '') || ' moved ' || v_now - v_frozen) WHERE CURRENT OF c_line;
    END IF
  END FOREACH

  -- 3
  DROP TABLE IF EXISTS t_diff;
  SELECT t.art AS art, SUM(t.result - t.frozen) AS diff, SUM(CASE WHEN t.note LIKE '%moved%' THEN 1 ELSE 0 END) AS moved
    FROM take_line t
   WHERE t.take = v_take
   GROUP BY t.art
  HAVING SUM(t.result - t.frozen) <> 0
    INTO TEMP t_diff WITH NO LOG;

  LET v_all, v_abs, v_sum = 0, 0, 0;
  FOREACH
    SELECT d.art, d.diff, d.moved, a.name, a.class, a.avg_cost
      INTO v_art, v_diff, v_moved, v_name, v_class, v_cost
      FROM t_diff d, article a
     WHERE a.art = d.art
    LET v_note = NULL;
    IF v_cost IS NULL THEN
      SELECT SUM(b.qty * a.avg_cost) / SUM(b.qty) INTO v_cost
        FROM bin b, article a
       WHERE a.art = b.art AND a.class = v_class AND a.avg_cost IS NOT NULL;
      LET v_note = CASE WHEN v_cost IS NULL THEN 'no cost' ELSE 'mean of ' || v_class END;
    END IF
    LET v_amt = ROUND(v_diff * NVL(v_cost, 0), 2);
    INSERT INTO stock_post VALUES (0, v_art, v_diff, v_amt, 'stock take ' || v_take);
    LET v_all = v_all + v_amt;
    LET v_abs = v_abs + ABS(v_amt);
    LET v_sum = v_sum + v_diff;
  END FOREACH

  -- 4
  IF v_abs > p_limit THEN
    RAISE EXCEPTION -746, 0, v_abs || ' is above the limit';
  END IF
  UPDATE take SET state = 'C' WHERE take = v_take;
  COMMIT WORK;

  FOREACH
    SELECT p.art, a.name, p.qty, p.amt, DECODE(d.moved, 0, NULL, d.moved || ' moved')
      INTO v_art, v_name, v_diff, v_amt, v_note
      FROM stock_post p, article a, t_diff d
     WHERE p.txt = 'stock take ' || v_take AND a.art = p.art AND d.art = p.art
     ORDER BY p.amt, p.art
    RETURN v_art, v_name, v_diff, v_amt, v_note WITH RESUME;
  END FOREACH
  DROP TABLE t_diff;
  RETURN NULL, 'all', v_sum, v_all, NULL WITH RESUME;
END PROCEDURE;

select tolerance('A', 500), tolerance('B', 500), tolerance('C', 1000), tolerance('C', 299), tolerance('X', 1) from sysmaster:sysdual;
--> 0|1|10|2||
execute procedure close_take();
--> |not closed|||no open one|
execute procedure open_take(mdy(12,31,2026), 'Z*');
--> |0|
-- 70 is used
execute procedure open_take(mdy(12,31,2026));
--> 71|6|
execute procedure open_take(mdy(12,31,2026));
--> |0|
-- A-01: 9 of 10 by Jim, he may not count again, Ann finds 9; A-02: 5; B-01: 297 of 300 is one per cent;
-- B-02: 985, then 990 is within 10; C-01: 5, then 9, which is 4 more, then 6
execute procedure counts('A-01 JIM 9; A-01 JIM 10; A-01 ANN 9; A-02 JIM 5;; B-01 ANN 297; Z-99 ANN 1');
--> A-01  |count again|
--> A-01  |somebody else|
--> A-01  |done|
--> A-02  |done|
--> B-01  |done|
--> Z-99  |unknown bin|
execute procedure counts('B-02 ANN 985; B-02 JIM 990; C-01 JIM 5; C-01 ANN 9; C-01 BOB 6');
--> B-02  |count again|
--> B-02  |done|
--> C-01  |count again|
--> C-01  |third count|
--> C-01  |done|
execute procedure close_take();
--> |not closed|||1 bins without a result|
-- -1 * 120.50; -3 * 3.3333 = -10.00; -10 * 0.25; -1 valve without a cost: 133.00 in all
execute procedure close_take(132.99, 't');
--> |not closed|||133.00 is above the limit|
select count(*) from stock_post;
--> 0|
-- two pieces of A-01 and one of C-01 were taken out meanwhile
update bin set qty = qty - 2 where bin = 'A-01';
update bin set qty = 6 where bin = 'C-01';
execute procedure close_take(133, 't');
--> 1|Pump|-1|-120.50|1 moved|
--> 2|Hose|-3|-10.00||
--> 3|Clamp|-10|-2.50||
--> 4|Valve|-1|0.00|1 moved|
--> |all|-15|-133.00||
select bin, qty from bin order by bin;
--> A-01  |7|
--> A-02  |5|
--> B-01  |297|
--> B-02  |990|
--> C-01  |5|
--> C-02  |0|
select bin, result, note from take_line where note is not null order by bin;
--> A-01  |9|twice moved -2|
--> B-02  |990|twice|
--> C-01  |6|third by BOB moved -1|
--> C-02  |0|not counted|
select art, qty, amt, txt from stock_post order by art;
--> 1|-1|-120.50|stock take 71|
--> 2|-3|-10.00|stock take 71|
--> 3|-10|-2.50|stock take 71|
--> 4|-1|0.00|stock take 71|
select art, sum(amt)::decimal(12,2) from bin_value group by art order by art;
--> 1|1446.00|
--> 2|989.99|
--> 3|247.50|
--> 4|0.00|
