-- Files of fixed records: headers, details, trailers, check digits, labels and GOTO, state machines.

create table raw_line (file_no integer, line_no integer, txt char(60));
create table payment (file_no integer, seq integer, kind char(1), iban varchar(34), amt decimal(12,2), due date, ref varchar(12));
create table import_log (id serial, file_no integer, line_no integer, level char(1), msg varchar(50));

CREATE FUNCTION mod97 (p_text VARCHAR(40)) RETURNING INTEGER WITH (NOT VARIANT);
    { The remainder by 97 of an IBAN: the first four characters go to the end, letters are 10 to 35. }
    DEFINE v VARCHAR(40);
    DEFINE c CHAR(1);
    DEFINE r, n, i INTEGER;
    LET v = REPLACE(UPPER(p_text), ' ', '');
    IF v IS NULL OR LENGTH(v) < 5 THEN
        RETURN -1;
    END IF
    LET v = SUBSTR(v, 5) || v[1,4];
    LET r = 0;
    FOR i = 1 TO LENGTH(v)
        LET c = SUBSTR(v, i, 1);
        IF c BETWEEN '0' AND '9' THEN
            LET r = MOD(r * 10 + c, 97);
        ELIF c BETWEEN 'A' AND 'Z' THEN
            LET n = ASCII(c) - 55;
            LET r = MOD(r * 100 + n, 97);
        ELSE
            RETURN -1;
        END IF
    END FOR
    RETURN r;
END FUNCTION;

create procedure import_file (p_file integer, p_max_errors smallint default 3)
    returning char(8) as state, integer as payments, decimal(14,2) as total;
    --  H yyyymmdd sender......
    --  D k iban(22) amount(10, cents) yyyymmdd ref
    --  T count(5) total(12, cents)
    define global g_imports integer default 0;
    define v_line, v_last, v_count, v_errors, v_seq  integer;
    define v_txt      char(60);
    define v_rec      char(1);
    define v_state    char(8);      { START, HEADER, DETAIL, TRAILER, BROKEN }
    define v_day, v_due      date;
    define v_amt, v_total    decimal(14,2);
    define v_iban     varchar(34);
    define v_msg      varchar(50);
    define v_level    char(1);
    define e, m       integer;
    define t          varchar(50);

    on exception in (-1204, -1205, -1206, -1212, -1213, -1218) set e, m, t
        -- numbers and dates that are none; the field that it was for stays empty
        let v_msg = trim(e || ' ' || nvl(t, ''));
    end exception with resume;

    trace off;
    let v_state = 'START';
    let v_count, v_errors, v_seq, v_total = 0, 0, 0, 0;
    let v_line, v_level = 0, null;
    let g_imports = g_imports + 1;
    select max(line_no) into v_last from raw_line where file_no = p_file;
    if v_last is null then
        let v_msg = 'no lines';
        goto broken;
    end if;

    begin work;
    <<next_line>>
    let v_line = v_line + 1;
    if v_line > v_last then goto finish; end if;
    let v_txt = null;
    select txt into v_txt from raw_line where file_no = p_file and line_no = v_line;
    if v_txt is null then goto next_line; end if;       -- gaps do not matter
    let v_msg = null;
    let v_rec = v_txt[1,1];
    case v_rec
        when 'H' then
            if v_state <> 'START' then
                let v_msg = 'second header';
                goto broken;
            end if;
            let v_day = null;
            let v_day = mdy(v_txt[6,7], v_txt[8,9], v_txt[2,5]);
            if v_day is null then goto broken; end if;
            let v_state = 'HEADER';
        when 'D' then
            if v_state not in ('HEADER', 'DETAIL') then
                let v_msg = 'detail in ' || trim(v_state);
                goto broken;
            end if;
            let v_state = 'DETAIL';
            let v_iban = trim(v_txt[3,24]);
            let v_amt, v_due = null, null;
            let v_amt = v_txt[25,34]::decimal(12) / 100;
            let v_due = mdy(v_txt[39,40], v_txt[41,42], v_txt[35,38]);
            if v_msg is null and mod97(v_iban) <> 1 then
                let v_msg = 'check digits of ' || v_iban;
            end if;
            if v_msg is not null then goto bad_line; end if;
            if v_due < v_day then                       -- a warning only
                insert into import_log values (0, p_file, v_line, 'W', 'due on ' || v_due);
                let v_due = v_day;
            end if;
            let v_seq = v_seq + 1;
            insert into payment values (p_file, v_seq, v_txt[2], v_iban, v_amt, v_due, trim(v_txt[43,54]));
            let v_count = v_count + 1;
            let v_total = v_total + v_amt;
        when 'T' then
            let v_state = 'TRAILER';
            if v_txt[2,6]::integer <> v_count + v_errors then
                let v_msg = 'count ' || v_count + v_errors;
                goto broken;
            end if;
            if v_errors = 0 and v_txt[7,18]::decimal(14) / 100 <> v_total then
                let v_msg = 'total ' || v_total;
                goto broken;
            end if;
            goto finish;
        when '#' then                                   -- a comment
            let v_msg = null;
        else
            let v_msg = 'record ' || v_rec;
            goto bad_line;
    end case;
    goto next_line;

    <<bad_line>>
    let v_errors = v_errors + 1;
    insert into import_log values (0, p_file, v_line, 'E', v_msg);
    if v_errors <= p_max_errors then goto next_line; end if;
    let v_msg = 'too many errors';

    <<broken>>
    let v_state = 'BROKEN';
    if v_line > 0 then rollback work; end if;
    insert into import_log values (0, p_file, v_line, 'F', v_msg);
    return v_state, 0, null;

    <<finish>>
    if v_state <> 'TRAILER' then
        let v_msg = 'no trailer';
        goto broken;
    end if;
    commit work;
    return v_state, v_count, v_total;
end procedure;

-- BE62 5100 0754 7061: 510007547061 111462 (B 11, E 14) has the remainder 1
select mod97('BE62 5100 0754 7061'), mod97('be62510007547061'), mod97('BE61510007547061'), mod97('BE'), mod97('BE62-5100')
  from sysmaster:sysdual;
--> 1|1|0|-1|-1|
insert into raw_line values (1, 1, 'H20260504ACME');
insert into raw_line values (1, 2, '# test');
insert into raw_line values (1, 3, 'DCBE62510007547061      000000123420260510A-1');
insert into raw_line values (1, 5, 'DDBE62510007547061      000001000020260501B-22');
insert into raw_line values (1, 6, 'T00002000000011234');
execute procedure import_file(1);
--> TRAILER |2|112.34|
select seq, kind, iban, amt, due, ref from payment order by seq;
--> 1|C|BE62510007547061|12.34|2026-05-10|A-1|
--> 2|D|BE62510007547061|100.00|2026-05-04|B-22|
select line_no, level, msg from import_log order by id;
--> 5|W|due on 05/01/2026|
-- a wrong check digit, an amount that is no number, a day that does not exist; the total is not compared then
insert into raw_line values (2, 1, 'H20260504ACME');
insert into raw_line values (2, 2, 'DCBE61510007547061      000000123420260510A-1');
insert into raw_line values (2, 3, 'DCBE62510007547061      00000O123420260510A-2');
insert into raw_line values (2, 4, 'DCBE62510007547061      000000123420260431A-3');
insert into raw_line values (2, 5, 'DCBE62510007547061      000000000120260510A-4');
insert into raw_line values (2, 6, 'T00004000000099999');
execute procedure import_file(2);
--> TRAILER |1|0.01|
select line_no, level, msg from import_log where file_no = 2 order by id;
--> 2|E|check digits of BE61510007547061|
--> 3|E|-1213|
--> 4|E|-1206|
execute procedure import_file(2, 2);
--> BROKEN  |0||
-- what was logged before is undone with the payments
select line_no, level, msg from import_log where file_no = 2 and id > 4 order by id;
--> 4|F|too many errors|
execute procedure import_file(3);
--> BROKEN  |0||
insert into raw_line values (4, 1, 'DCBE62510007547061      000000123420260510A-1');
execute procedure import_file(4);
--> BROKEN  |0||
insert into raw_line values (5, 1, 'H20261304');
execute procedure import_file(5);
--> BROKEN  |0||
insert into raw_line values (6, 1, 'H20260504');
insert into raw_line values (6, 2, 'X');
execute procedure import_file(6);
--> BROKEN  |0||
insert into raw_line values (6, 3, 'T00002');
execute procedure import_file(6);
--> BROKEN  |0||
insert into raw_line values (7, 1, 'H20260504');
insert into raw_line values (7, 2, 'T00000000000000001');
execute procedure import_file(7);
--> BROKEN  |0||
select file_no, line_no, msg from import_log where level = 'F' and file_no > 2 order by id;
--> 3|0|no lines|
--> 4|1|detail in START|
--> 5|1|-1205|
--> 6|3|no trailer|
--> 6|3|count 1|
--> 7|2|total 0.00|
select file_no, count(*) from payment group by file_no order by file_no;
--> 1|2|
--> 2|1|
