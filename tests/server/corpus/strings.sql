-- Strings: lists, names, check digits, numbers in words, Roman numerals, phonetic codes, records of fixed fields.

create table import_error (line_no integer, sqlcode integer, line varchar(40));

create procedure split_list (p_text lvarchar(500), p_sep char(1) default ',')
    returning smallint as nr, varchar(50) as entry, smallint as size;
    define i, n smallint;
    define v_c char(1);
    define v_entry varchar(50);

    if p_text is null then
        return;
    end if;
    let n = 1;
    let v_entry = '';
    for i = 1 to length(p_text)
        let v_c = substr(p_text, i, 1);
        if v_c = p_sep then
            return n, trim(v_entry), length(trim(v_entry)) with resume;
            let n = n + 1;
            let v_entry = '';
        else
            let v_entry = v_entry || v_c;
        end if;
    end for;
    return n, trim(v_entry), length(trim(v_entry)) with resume;
end procedure;

CREATE FUNCTION digits_only (p_text VARCHAR(60)) RETURNING VARCHAR(60);
    DEFINE i SMALLINT;
    DEFINE v_c CHAR(1);
    DEFINE v_digits VARCHAR(60);
    LET v_digits = '';
    FOR i = 1 TO LENGTH(p_text)
        LET v_c = SUBSTR(p_text, i, 1);
        IF v_c MATCHES '[0-9]' THEN
            LET v_digits = v_digits || v_c;
        ELIF v_c MATCHES '[A-Za-z]' THEN
            RAISE EXCEPTION -746, i, 'letter ' || v_c || ' at ' || i;
        END IF;
    END FOR;
    RETURN v_digits;
END FUNCTION;

create function luhn (p_number varchar(40)) returning boolean;
    -- Every second digit from the right counts twice; digits of what that gives are added.
    define v_digits varchar(40);
    define i, v_digit, v_sum smallint;
    define v_twice boolean;

    let v_digits = digits_only(p_number);
    let v_sum = 0;
    let v_twice = 'f';
    for i = length(v_digits) to 1 step -1
        let v_digit = substr(v_digits, i, 1);
        if v_twice then
            let v_digit = v_digit * 2;
            if v_digit > 9 then
                let v_digit = v_digit - 9;
            end if;
            let v_twice = 'f';
        else
            let v_twice = 't';
        end if;
        let v_sum = v_sum + v_digit;
    end for;
    if mod(v_sum, 10) = 0 and length(v_digits) > 1 then
        return 't';
    end if;
    return 'f';
end function;

create function mod_97 (p_text varchar(60)) returning smallint;
    -- Letters count as 10 to 35.
    define i, v_rest, v_value smallint;
    define v_c char(1);
    let v_rest = 0;
    for i = 1 to length(p_text)
        let v_c = upper(substr(p_text, i, 1));
        if v_c between '0' and '9' then
            let v_rest = mod(v_rest * 10 + v_c, 97);
        elif v_c between 'A' and 'Z' then
            let v_value = ascii(v_c) - 55;
            let v_rest = mod(v_rest * 100 + v_value, 97);
        end if;
    end for;
    return v_rest;
end function;

CREATE FUNCTION in_words (p_n INTEGER) RETURNING VARCHAR(200);
    DEFINE v_text VARCHAR(200);

    IF p_n < 0 THEN
        RETURN 'minus ' || in_words(-p_n);
    END IF;
    IF p_n >= 1000000 THEN
        RAISE EXCEPTION -746, 0, 'number: expected less than 1000000, got ' || p_n;
    END IF;
    IF p_n >= 1000 THEN
        LET v_text = in_words(TRUNC(p_n / 1000)) || ' thousand';
        IF MOD(p_n, 1000) > 0 THEN
            LET v_text = v_text || ' ' || in_words(MOD(p_n, 1000));
        END IF;
        RETURN v_text;
    ELIF p_n >= 100 THEN
        LET v_text = in_words(TRUNC(p_n / 100)) || ' hundred';
        IF MOD(p_n, 100) > 0 THEN
            LET v_text = v_text || ' ' || in_words(MOD(p_n, 100));
        END IF;
        RETURN v_text;
    ELIF p_n >= 20 THEN
        CASE TRUNC(p_n / 10)
            WHEN 2 THEN LET v_text = 'twenty';
            WHEN 3 THEN LET v_text = 'thirty';
            WHEN 4 THEN LET v_text = 'forty';
            WHEN 5 THEN LET v_text = 'fifty';
            WHEN 8 THEN LET v_text = 'eighty';
            ELSE LET v_text = in_words(TRUNC(p_n / 10)) || 'ty';
        END CASE;
        IF MOD(p_n, 10) > 0 THEN
            LET v_text = v_text || '-' || in_words(MOD(p_n, 10));
        END IF;
        RETURN v_text;
    END IF;
    CASE p_n
        WHEN 0 THEN RETURN 'zero';
        WHEN 1 THEN RETURN 'one';
        WHEN 2 THEN RETURN 'two';
        WHEN 3 THEN RETURN 'three';
        WHEN 4 THEN RETURN 'four';
        WHEN 5 THEN RETURN 'five';
        WHEN 6 THEN RETURN 'six';
        WHEN 7 THEN RETURN 'seven';
        WHEN 8 THEN RETURN 'eight';
        WHEN 9 THEN RETURN 'nine';
        WHEN 10 THEN RETURN 'ten';
        WHEN 11 THEN RETURN 'eleven';
        WHEN 12 THEN RETURN 'twelve';
        WHEN 13 THEN RETURN 'thirteen';
        WHEN 15 THEN RETURN 'fifteen';
        WHEN 18 THEN RETURN 'eighteen';
        ELSE RETURN in_words(p_n - 10) || 'teen';
    END CASE;
END FUNCTION;

create function roman (p_n integer) returning varchar(20);
    define v_left, v_value integer;
    define v_sign char(2);
    define v_text varchar(20);

    if p_n not between 1 and 3999 then
        raise exception -746, 0, p_n || ' has no numeral';
    end if;
    let v_left = p_n;
    let v_text = '';
    for v_value in (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
        let v_sign = decode(v_value, 1000, 'M', 900, 'CM', 500, 'D', 400, 'CD', 100, 'C', 90, 'XC', 50, 'L',
                            40, 'XL', 10, 'X', 9, 'IX', 5, 'V', 4, 'IV', 'I');
        while v_left >= v_value
            let v_text = v_text || trim(v_sign);
            let v_left = v_left - v_value;
        end while;
    end for;
    return v_text;
end function;

CREATE FUNCTION sound_code (p_name VARCHAR(40)) RETURNING CHAR(4);
    -- A letter and three digits; h and w do not part equal codes, vowels do.
    DEFINE v_code CHAR(4);
    DEFINE v_text VARCHAR(40);
    DEFINE v_result VARCHAR(4);
    DEFINE v_c, v_digit, v_last CHAR(1);
    DEFINE i SMALLINT;

    LET v_text = UPPER(TRIM(p_name));
    LET v_result = '';
    LET v_last = '';
    FOR i = 1 TO LENGTH(v_text)
        LET v_c = SUBSTR(v_text, i, 1);
        IF v_c IN ('H', 'W') AND i > 1 THEN
            CONTINUE FOR;
        END IF;
        LET v_digit = CASE
            WHEN v_c MATCHES '[BFPV]' THEN '1'
            WHEN v_c MATCHES '[CGJKQSXZ]' THEN '2'
            WHEN v_c MATCHES '[DT]' THEN '3'
            WHEN v_c = 'L' THEN '4'
            WHEN v_c MATCHES '[MN]' THEN '5'
            WHEN v_c = 'R' THEN '6'
            ELSE '0' END;
        IF i = 1 THEN
            LET v_result = v_c;
        ELIF v_digit <> '0' AND v_digit <> v_last THEN
            LET v_result = v_result || v_digit;
        END IF;
        LET v_last = v_digit;
        EXIT FOR WHEN LENGTH(v_result) = 4;
    END FOR;
    LET v_code = RPAD(v_result, 4, '0');
    RETURN v_code;
END FUNCTION;

create procedure read_record (p_no integer, p_line char(40))
    returning char(6), date, decimal(10,2), varchar(14);
    { Account, day as YYYYMMDD, cents with the sign behind, text.
      Lines that cannot be read are kept with the error. }
    define v_account char(6);
    define v_day date;
    define v_amount decimal(10,2);
    define v_text varchar(14);
    define v_code integer;

    on exception in (-1213, -1205, -1206, -746) set v_code
        insert into import_error values (p_no, v_code, trim(trailing from p_line));
        return null, null, null, null;
    end exception;

    let v_account = p_line[1,6];
    if v_account = '' then
        raise exception -746, 0, 'no account';
    end if;
    let v_day = mdy(p_line[11,12], p_line[13,14], p_line[7,10]);
    let v_amount = p_line[15,24] / 100;
    if p_line[25,25] = '-' then
        let v_amount = -v_amount;
    end if;
    let v_text = trim(p_line[26,39]);
    return v_account, v_day, v_amount, v_text;
end procedure;

execute procedure split_list('red, green,,blue ');
--> 1|red|3|
--> 2|green|5|
--> 3||0|
--> 4|blue|4|
execute procedure split_list('a;b;', ';');
--> 1|a|1|
--> 2|b|1|
--> 3||0|
execute procedure split_list(null);
--> no rows
execute function digits_only('+44 (0)20-7946');
--> 440207946|
execute function digits_only('12x4');
--> error -746, 3, letter x at 3
-- 7992 7398 71 and 3: 3+2+7+6+9+7+4+7+9+9+7 = 70
select luhn('7992-7398-713'), luhn('7992-7398-710'), luhn('0') from sysmaster:sysdual;
--> True|False|False|
-- 98 = 97 + 1; A is 10; 'A1' is 101 = 97 + 4
select mod_97('98'), mod_97('a'), mod_97('A1'), mod_97('WEST12345698765432GB82') from sysmaster:sysdual;
--> 1|10|4|1|
select in_words(0), in_words(14), in_words(21), in_words(60), in_words(-305), in_words(118), in_words(40012)
  from sysmaster:sysdual;
--> zero|fourteen|twenty-one|sixty|minus three hundred five|one hundred eighteen|forty thousand twelve|
execute function in_words(999999);
--> nine hundred ninety-nine thousand nine hundred ninety-nine|
execute function in_words(1000000);
--> error -746, 0, number: expected less than 1000000, got 1000000
select roman(4), roman(1994), roman(2026), roman(3999) from sysmaster:sysdual;
--> IV|MCMXCIV|MMXXVI|MMMCMXCIX|
execute function roman(0);
--> error -746, 0, 0 has no numeral
select sound_code('Robert'), sound_code('rupert'), sound_code('Ashcraft'), sound_code('Tymczak'),
       sound_code('Pfister'), sound_code('Lee')
  from sysmaster:sysdual;
--> R163|R163|A261|T522|P236|L000|
execute procedure read_record(1, '1200  202611270000012345-Rent');
--> 1200  |2026-11-27|-123.45|Rent|
execute procedure read_record(2, '1200  202602300000012345 Rent');
--> ||||
execute procedure read_record(3, '1200  20261127000001A345 Rent');
--> ||||
execute procedure read_record(4, '      202611270000012345 Rent');
--> ||||
execute procedure read_record(5, '1200  202613270000012345 Rent');
--> ||||
execute procedure read_record(6, '7      20261127         1');
--> ||||
-- 30 February: invalid day; month 13, and in line 6, which is shifted by a column, month 61: invalid month
select line_no, sqlcode, line from import_error order by line_no;
--> 2|-1206|1200  202602300000012345 Rent|
--> 3|-1213|1200  20261127000001A345 Rent|
--> 4|-746|      202611270000012345 Rent|
--> 5|-1205|1200  202613270000012345 Rent|
--> 6|-1205|7      20261127         1|
