-- Insurance claims: policies as rows, cover by kind, deductibles, limits of a year, reserves, addresses that are tidied.

create row type party_t (name varchar(30), street varchar(30), zip char(5), city varchar(20));
create table policy (pol integer primary key, holder party_t, begins date, ends date, bonus smallint);
create table cover (pol integer, kind char(4), deduct decimal(8,2), most decimal(10,2), year_most decimal(10,2));
create table claim (claim serial(9000), pol integer, kind char(4), on_day date, asked decimal(10,2),
                    granted decimal(10,2), state char(2), why varchar(50), payee party_t);
create table reserve (pol integer, year smallint, amt decimal(12,2), primary key (pol, year));
insert into policy values (1, row('  lena  BERG', 'hill rd. 3', '1234', 'york')::party_t, mdy(3,1,2025), mdy(2,28,2027), 4);
insert into policy values (2, row('Tom Reed', null, '54321', 'Leeds')::party_t, mdy(1,1,2026), mdy(12,31,2026), 0);
insert into policy values (3, null, mdy(1,1,2026), mdy(12,31,2026), 0);
insert into cover values (1, 'FIRE', 0, 50000, 60000);
insert into cover values (1, 'GLAS', 150, 1000, null);
insert into cover values (2, 'GLAS', 100, 500, 800);

CREATE FUNCTION tidy (p_party party_t) RETURNING party_t;
  -- one blank between words, capitals, five digits, "Rd." and "St." in full
  DEFINE r party_t;
  LET r = p_party;
  IF r IS NULL THEN
    RETURN NULL;
  END IF
  LET r.name = TRIM(r.name);
  WHILE r.name LIKE '%  %'
    LET r.name = REPLACE(r.name, '  ', ' ');
  END WHILE
  LET r.name = INITCAP(r.name);
  LET r.street = INITCAP(TRIM(NVL(r.street, 'poste restante')));
  LET r.street = REPLACE(REPLACE(r.street, 'Rd.', 'Road'), 'St.', 'Street');
  LET r.zip = LPAD(TRIM(r.zip), 5, '0');
  LET r.city = UPPER(r.city);
  RETURN r;
END FUNCTION;

create procedure settle (p_pol integer, p_kind char(4), p_day date, p_asked decimal(10,2), p_payee party_t default null)
    returning integer as claim, char(2) as state, decimal(10,2) as granted, varchar(50) as why, varchar(80) as payee;
    /*
       Decides about a claim:
         RJ  rejected, with the reason
         PD  paid: what was asked, less the deductible, at most the limits
         RV  to be looked at by a human: more than 10000, or the third of a year
       A claim that is paid costs two steps of the bonus; reserves are kept by year.
       The holder is paid if nobody else is named.
    */
    define r, h             party_t;
    define c                row(deduct decimal(8,2), most decimal(10,2), year_most decimal(10,2));
    define total            row(n integer, amt decimal(12,2));
    define v_begins, v_ends date;
    define v_granted, v_rest decimal(10,2);
    define v_state          char(2);
    define v_why            varchar(50);
    define v_from, v_to     date;
    define v_claim          integer;
    define v_year           smallint;

    let v_state, v_why, v_granted = 'RJ', null, 0;
    let c = row(null, null, null);
    let total = row(0, 0);
    let v_year = year(p_day);

    <<decide>>
    loop
        select holder, begins, ends into h, v_begins, v_ends from policy where pol = p_pol;
        if sqlcode = 100 then
            raise exception -746, 0, 'no policy ' || p_pol;
        end if
        if p_day not between v_begins and v_ends then
            let v_why = 'not insured on ' || to_char(p_day, '%d.%m.%Y');
            exit decide;
        end if

        select deduct, most, year_most into c.deduct, c.most, c.year_most
          from cover where pol = p_pol and kind = p_kind;
        if dbinfo('sqlca.sqlerrd2') = 0 then
            let v_why = 'no cover of ' || lower(p_kind);
            exit decide;
        end if

        -- what the policy has paid in this year, of all kinds for the count
        select count(*) into total.n from claim
         where pol = p_pol and state = 'PD' and year(on_day) = v_year;
        select nvl(sum(granted), 0) into total.amt from claim
         where pol = p_pol and state = 'PD' and kind = p_kind and year(on_day) = v_year;

        let v_granted = p_asked - c.deduct;
        if v_granted <= 0 then
            let v_granted = 0;
            let v_why = 'below the deductible of ' || c.deduct;
            exit decide;
        end if
        if v_granted > c.most then
            let v_granted = c.most;
            let v_why = 'at most ' || c.most;
        end if
        if c.year_most is not null then
            let v_rest = c.year_most - total.amt;
            if v_rest <= 0 then
                let v_granted = 0;
                let v_why = 'the limit of ' || v_year || ' is reached';
                exit decide;
            end if
            if v_granted > v_rest then
                let v_granted = v_rest;
                let v_why = 'left of ' || v_year;
            end if
        end if

        if v_granted > 10000 or total.n >= 2 then
            let v_state = 'RV';
            let v_why = nvl(v_why, case when total.n >= 2 then 'claim ' || total.n + 1 else 'large' end);
            exit decide;
        end if
        let v_state = 'PD';
        exit decide;
    end loop decide

    let r = tidy(p_payee);
    if r is null then
        let r = tidy(h);
    end if
    if r is null and v_state = 'PD' then
        let v_state, v_why = 'RV', 'nobody to pay';
    end if

    begin work;
    insert into claim (claim, pol, kind, on_day, asked, granted, state, why, payee)
    values (0, p_pol, p_kind, p_day, p_asked, v_granted, v_state, v_why, r);
    let v_claim = dbinfo('sqlca.sqlerrd1');
    if v_state = 'PD' then
        update policy set bonus = case when bonus > 2 then bonus - 2 else 0 end where pol = p_pol;
    end if
    if v_granted > 0 then
        update reserve set amt = amt + v_granted where pol = p_pol and year = v_year;
        if dbinfo('sqlca.sqlerrd2') = 0 then
            insert into reserve values (p_pol, v_year, v_granted);
        end if
    end if
    commit work;

    if r is null then
        return v_claim, v_state, v_granted, v_why, null;
    end if
    return v_claim, v_state, v_granted, v_why, r.name || ', ' || r.street || ', ' || r.zip || ' ' || r.city;
end procedure;

execute function tidy(row(' a   b ', 'x st. 1', '7', 'Bonn')::party_t);
--> ROW('A B','X Street 1','00007','BONN')|
-- 800 - 150
execute procedure settle(1, 'GLAS', mdy(5,5,2026), 800);
--> 9000|PD|650.00||Lena Berg, Hill Road 3, 01234 YORK|
execute procedure settle(1, 'GLAS', mdy(5,6,2026), 150);
--> 9001|RJ|0.00|below the deductible of 150.00|Lena Berg, Hill Road 3, 01234 YORK|
execute procedure settle(1, 'GLAS', mdy(5,7,2026), 2000, row('glass ltd', 'Dock St. 9', '99999', 'Hull')::party_t);
--> 9002|PD|1000.00|at most 1000.00|Glass Ltd, Dock Street 9, 99999 HULL|
-- the third of the year, and a large one of the year before
execute procedure settle(1, 'GLAS', mdy(5,8,2026), 250);
--> 9003|RV|100.00|claim 3|Lena Berg, Hill Road 3, 01234 YORK|
execute procedure settle(1, 'FIRE', mdy(12,31,2025), 10000.01);
--> 9004|RV|10000.01|large|Lena Berg, Hill Road 3, 01234 YORK|
execute procedure settle(1, 'FIRE', mdy(3,1,2027), 1);
--> 9005|RJ|0.00|not insured on 01.03.2027|Lena Berg, Hill Road 3, 01234 YORK|
-- 600 - 100 is the most, then 300 of 800 are left, then nothing
execute procedure settle(2, 'GLAS', mdy(2,1,2026), 600);
--> 9006|PD|500.00||Tom Reed, Poste Restante, 54321 LEEDS|
execute procedure settle(2, 'GLAS', mdy(2,2,2026), 600);
--> 9007|PD|300.00|left of 2026|Tom Reed, Poste Restante, 54321 LEEDS|
execute procedure settle(2, 'GLAS', mdy(2,3,2026), 600);
--> 9008|RJ|0.00|the limit of 2026 is reached|Tom Reed, Poste Restante, 54321 LEEDS|
execute procedure settle(2, 'FIRE', mdy(2,3,2026), 600);
--> 9009|RJ|0.00|no cover of fire|Tom Reed, Poste Restante, 54321 LEEDS|
insert into cover values (3, 'FIRE', 10, 100, 100);
execute procedure settle(3, 'FIRE', mdy(2,3,2026), 60);
--> 9010|RV|50.00|nobody to pay||
execute procedure settle(4, 'FIRE', mdy(2,3,2026), 60);
--> error -746, 0, no policy 4
-- two payments: 4 - 2 - 2, 0 - 0
select pol, bonus from policy order by pol;
--> 1|0|
--> 2|0|
--> 3|0|
select pol, year, amt from reserve order by pol, year;
--> 1|2025|10000.01|
--> 1|2026|1750.00|
--> 2|2026|800.00|
--> 3|2026|50.00|
select payee.name, count(*) from claim where payee.zip < '5' group by 1;
--> Lena Berg|5|
