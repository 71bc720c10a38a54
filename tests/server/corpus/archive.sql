-- Archives: a table that is made when it is first needed, chunks of rows in a transaction each, purges, restoring.

create table client (client_no integer primary key constraint pk_client, name varchar(20), last_seen date);
create table sale
  (
    sale_no integer primary key constraint pk_sale,
    client_no integer references client constraint fk_sale_client,
    sale_date date,
    amount decimal(10,2)
  );
insert into client values (1, 'Ahmed', mdy(5, 1, 2019));
insert into client values (2, 'Bergman', mdy(5, 1, 2020));
insert into client values (3, 'Castro', mdy(5, 1, 2026));
insert into client values (4, 'Dubois', mdy(5, 1, 2018));
insert into sale values (1, 1, mdy(1, 10, 2019), 10);
insert into sale values (2, 1, mdy(2, 10, 2019), 20);
insert into sale values (3, 2, mdy(3, 10, 2019), 30);
insert into sale values (4, 2, mdy(3, 10, 2020), 40);
insert into sale values (5, 2, mdy(4, 10, 2019), 50);
insert into sale values (6, 3, mdy(5, 1, 2026), 60);
insert into sale values (7, 1, mdy(6, 10, 2019), 70);

create procedure make_archive()
    -- Does nothing if the table is there.
    on exception in (-310)
    end exception with resume;
    create table sale_arc
      (
        sale_no integer,
        client_no integer,
        sale_date date,
        amount decimal(10,2),
        archived date,
        primary key (sale_no) constraint pk_sale_arc
      );
end procedure;

create procedure archive_sales(p_before date, p_chunk integer default 2)
    returning integer as moved, integer as commits;
    {
      Moves sales before a date into the archive.
      Commits after each p_chunk rows, so that no transaction is long.
    }
    define v_no, v_client integer;
    define v_date date;
    define v_amount like sale.amount;
    define v_moved, v_commits, v_open integer;
    define v_code, v_isam integer;
    define v_text char(60);

    on exception set v_code, v_isam, v_text
        if v_open > 0 then
            rollback work;
        end if;
        raise exception v_code, v_isam, v_text;
    end exception;

    trace 'archive_sales begins';
    let v_moved, v_commits, v_open = 0, 0, 0;
    if p_chunk < 1 then
        raise exception -746, 0, 'chunk: expected at least 1, got ' || p_chunk;
    end if;
    call make_archive();

    foreach c_old with hold for
        select sale_no, client_no, sale_date, amount
          into v_no, v_client, v_date, v_amount
          from sale
         where sale_date < p_before
         order by sale_no

        if v_open = 0 then
            begin work;
        end if;
        insert into sale_arc values (v_no, v_client, v_date, v_amount, mdy(11, 27, 2026));
        delete from sale where sale_no = v_no;
        let v_open = v_open + 1;
        let v_moved = v_moved + 1;
        if v_open = p_chunk then
            commit work;
            let v_commits = v_commits + 1;
            let v_open = 0;
        end if;
    end foreach;
    if v_open > 0 then
        commit work;
        let v_commits = v_commits + 1;
    end if;
    trace v_moved || ' moved';
    return v_moved, v_commits;
end procedure;

CREATE PROCEDURE purge_clients(p_before DATE) RETURNING INTEGER AS purged, INTEGER AS kept;
    -- A client with sales stays: -692 from the foreign key.
    DEFINE v_no, v_purged, v_kept INTEGER;

    LET v_purged = 0;
    LET v_kept = 0;
    FOREACH SELECT client_no INTO v_no FROM client WHERE last_seen < p_before ORDER BY client_no
        BEGIN
            ON EXCEPTION IN (-692)
                LET v_kept = v_kept + 1;
            END EXCEPTION;
            DELETE FROM client WHERE client_no = v_no;
            LET v_purged = v_purged + 1;
        END;
    END FOREACH;
    RETURN v_purged, v_kept;
END PROCEDURE;

create procedure restore_sale(p_no integer) returning varchar(30);
    define v_code, v_isam integer;
    define v_text varchar(60);
    define v_found integer;

    on exception in (-268, -239, -691) set v_code, v_isam, v_text
        rollback work;
        if v_code = -691 then
            return 'client is gone';
        end if;
        return 'is there: ' || v_text;
    end exception;

    begin work;
    insert into sale select sale_no, client_no, sale_date, amount from sale_arc where sale_no = p_no;
    let v_found = dbinfo('sqlca.sqlerrd2');
    if v_found = 0 then
        rollback work;
        return 'not archived';
    end if;
    delete from sale_arc where sale_no = p_no;
    commit work;
    return 'restored';
end procedure;

CREATE PROCEDURE drop_old(p_name VARCHAR(30)) RETURNING INTEGER;
    -- 1 if the table was there.
    DEFINE v_dropped INTEGER;
    LET v_dropped = 1;
    BEGIN
        ON EXCEPTION IN (-206)
            LET v_dropped = 0;
        END EXCEPTION;
        EXECUTE IMMEDIATE 'drop table ' || p_name;
    END;
    RETURN v_dropped;
END PROCEDURE;

execute procedure archive_sales(mdy(1, 1, 2020), 0);
--> error -746, 0, chunk: expected at least 1, got 0
select count(*) from systables where tabname = 'sale_arc';
--> 0|
-- sales 1, 2, 3, 5 and 7, two at a time
execute procedure archive_sales(mdy(1, 1, 2020));
--> 5|3|
select sale_no from sale order by sale_no;
--> 4|
--> 6|
select count(*), sum(amount)::decimal(10,2), max(archived) from sale_arc;
--> 5|180.00|2026-11-27|
-- 1 and 4 have no sales any more, 2 has one, 3 was seen lately
execute procedure purge_clients(mdy(1, 1, 2022));
--> 2|1|
select client_no from client order by 1;
--> 2|
--> 3|
execute procedure restore_sale(3);
--> restored|
execute procedure restore_sale(3);
--> not archived|
execute procedure restore_sale(1);
--> client is gone|
insert into sale values (5, 3, mdy(11, 1, 2026), 1);
execute procedure restore_sale(5);
--> is there: anna.pk_sale|
-- sale 3 is archived again; sale 5 is not that old
execute procedure archive_sales(mdy(1, 1, 2020), 10);
--> 1|1|
-- the second row fails, so neither is moved
update sale set sale_date = mdy(1, 1, 2001) where sale_no in (4, 5);
execute procedure archive_sales(mdy(1, 1, 2020), 10);
--> error -268, -100, anna.pk_sale_arc
select sale_no, (select count(*) from sale_arc) from sale order by sale_no;
--> 4|5|
--> 5|5|
--> 6|5|
-- in chunks of one, the first is
execute procedure archive_sales(mdy(1, 1, 2020), 1);
--> error -268, -100, anna.pk_sale_arc
select sale_no, (select count(*) from sale_arc) from sale order by sale_no;
--> 5|6|
--> 6|6|
execute procedure drop_old('sale_arc');
--> 1|
execute procedure drop_old('sale_arc');
--> 0|
