-- Archiving that a table controls: dynamic SQL, tables that are created on the way, portions, dependants, dry runs.

create table shipment (shp integer primary key constraint pk_shipment, day date, status char(1), weight decimal(8,2));
create table shp_item (shp integer, pos smallint, txt varchar(20),
                       foreign key (shp) references shipment (shp) constraint fk_item_shp);
create table shp_event (shp integer, at datetime year to minute, txt varchar(20));
create table arc_ctl (seq smallint, tab varchar(18), key varchar(18), day_col varchar(18), keep_days smallint,
                      cond varchar(60), parent varchar(18), active char(1));
create table arc_stat (run integer, tab varchar(18), n integer, note varchar(60));
insert into arc_ctl values (10, 'shp_item', 'shp', null, null, null, 'shipment', 'Y');
insert into arc_ctl values (20, 'shp_event', 'shp', null, null, null, 'shipment', 'Y');
insert into arc_ctl values (30, 'shipment', 'shp', 'day', 365, 'status in (''D'', ''X'')', null, 'Y');
insert into arc_ctl values (40, 'no_such', 'id', 'day', 30, null, null, 'Y');
insert into arc_ctl values (50, 'arc_ctl', 'seq', 'tab', 1, null, null, 'N');
insert into shipment values (1, mdy(1,10,2025), 'D', 10);
insert into shipment values (2, mdy(1,20,2025), 'D', 20.5);
insert into shipment values (3, mdy(1,20,2025), 'O', 30);
insert into shipment values (4, mdy(6,1,2026), 'D', 40);
insert into shipment values (5, mdy(2,1,2025), 'X', null);
insert into shp_item values (1, 1, 'box');
insert into shp_item values (1, 2, 'crate');
insert into shp_item values (3, 1, 'box');
insert into shp_item values (5, 1, 'pallet');
insert into shp_event values (1, '2025-01-11 08:00', 'sent');
insert into shp_event values (2, '2025-01-21 09:30', 'sent');
insert into shp_event values (4, '2026-06-02 10:00', 'sent');

create function col_list(p_tab varchar(18)) returning lvarchar(1000);
  -- the definition of the columns of a table, for a copy of it: only the types that these tables have
  define l lvarchar(1000);
  define c varchar(18);
  define t, n smallint;
  let l = '';
  foreach
    select col.colname, mod(col.coltype, 256), col.collength into c, t, n
      from systables tab, syscolumns col
     where tab.tabname = p_tab and tab.tabid = col.tabid
     order by col.colno
    if l <> '' then let l = l || ', '; end if;
    let l = l || c || ' ' || trim(case t when 0 then 'char(' || n || ')'
                                    when 1 then 'smallint'
                                    when 2 then 'integer'
                                    when 5 then 'decimal(' || trunc(n / 256) || ',' || mod(n, 256) || ')'
                                    when 7 then 'date'
                                    when 10 then 'datetime year to minute'
                                    when 13 then 'varchar(' || mod(n, 256) || ')' end);
  end foreach;
  return l;
end function;

CREATE PROCEDURE archive_run ( p_run INTEGER, p_today DATE, p_portion INTEGER DEFAULT 100, p_dry BOOLEAN DEFAULT 'f' )
        RETURNING VARCHAR(18) AS tab, INTEGER AS n, VARCHAR(60) AS note;

        --==================================================================
        -- arc_ctl says which rows of which table are old. The keys of the
        -- old rows of a table without parent are put into a temporary table;
        -- rows of dependants are moved first, by these keys. All of a portion
        -- of keys is one transaction. p_dry only counts.
        --==================================================================
        DEFINE v_tab, v_key, v_daycol, v_dep  VARCHAR(18);
        DEFINE v_depkey                       VARCHAR(18);
        DEFINE v_keep                         SMALLINT;
        DEFINE v_cond                         VARCHAR(60);
        DEFINE v_sql                          LVARCHAR(2000);
        DEFINE v_in, v_arc                    LVARCHAR(400);
        DEFINE v_n, v_keys, v_moved, v_at     INTEGER;
        DEFINE v_before                       DATE;
        DEFINE v_seq                          SMALLINT;
        DEFINE e_sql, e_isam                  INTEGER;
        DEFINE e_text                         VARCHAR(60);

        FOREACH c_ctl WITH HOLD FOR
                SELECT seq, tab, key, day_col, keep_days, cond
                  INTO v_seq, v_tab, v_key, v_daycol, v_keep, v_cond
                  FROM arc_ctl
                 WHERE parent IS NULL AND active = 'Y'
                 ORDER BY seq

                BEGIN
                        ON EXCEPTION IN (-206, -217, -201) SET e_sql, e_isam, e_text
                                -- the entry of arc_ctl is wrong: noted, the next one is tried
                                INSERT INTO arc_stat VALUES (p_run, v_tab, NULL, e_sql || ' ' || e_text);
                                RETURN v_tab, NULL, e_sql || ' ' || e_text WITH RESUME;
                                CONTINUE FOREACH;
                        END EXCEPTION;

                        -- 1. the keys that are old
                        DROP TABLE IF EXISTS t_key;
                        CREATE TEMP TABLE t_key (nr SERIAL, key INTEGER) WITH NO LOG;
                        LET v_before = p_today - v_keep;
                        LET v_sql = 'insert into t_key (key) select ' || v_key || ' from ' || v_tab ||
                                    ' where ' || v_daycol || ' < ''' || v_before || '''';
                        IF v_cond IS NOT NULL THEN
                                LET v_sql = v_sql || ' and (' || v_cond || ')';
                        END IF;
                        EXECUTE IMMEDIATE v_sql;
                        LET v_keys = DBINFO('sqlca.sqlerrd2');
                        IF v_keys = 0 THEN
                                RETURN v_tab, 0, NULL WITH RESUME;
                                CONTINUE FOREACH;
                        END IF;
                        IF p_dry THEN
                                FOREACH SELECT tab, key INTO v_dep, v_depkey FROM arc_ctl
                                         WHERE parent = v_tab AND active = 'Y' ORDER BY seq
                                        PREPARE s_dry FROM 'select count(*) from ' || v_dep || ' where ' || v_depkey ||
                                                           ' in (select key from t_key)';
                                        DECLARE c_dry CURSOR FOR s_dry;
                                        OPEN c_dry;
                                        FETCH c_dry INTO v_n;
                                        CLOSE c_dry;
                                        FREE c_dry;
                                        FREE s_dry;
                                        RETURN v_dep, v_n, 'dry' WITH RESUME;
                                END FOREACH;
                                RETURN v_tab, v_keys, 'dry' WITH RESUME;
                                CONTINUE FOREACH;
                        END IF;

                        -- 2. the tables of the archive
                        FOREACH SELECT tab INTO v_dep FROM arc_ctl
                                 WHERE (parent = v_tab OR tab = v_tab) AND active = 'Y'
                                LET v_arc = 'arc_' || v_dep;
                                IF NOT EXISTS (SELECT 1 FROM systables WHERE tabname = v_arc) THEN
                                        EXECUTE IMMEDIATE 'create table ' || v_arc || ' (' || col_list(v_dep) ||
                                                          ', arc_run integer)';
                                END IF;
                        END FOREACH;

                        -- 3. portion by portion, dependants first
                        LET v_at, v_moved = 0, 0;
                        WHILE v_at < v_keys
                                LET v_in = ' in (select key from t_key where nr > ' || v_at || ' and nr <= '
                                           || v_at + p_portion || ')';
                                BEGIN WORK;
                                FOREACH SELECT tab, key, seq INTO v_dep, v_depkey, v_seq FROM arc_ctl
                                         WHERE (parent = v_tab OR tab = v_tab) AND active = 'Y' ORDER BY seq
                                        LET v_sql = 'insert into arc_' || v_dep || ' select *, ' || p_run || ' from '
                                                    || v_dep || ' where ' || v_depkey || v_in;
                                        EXECUTE IMMEDIATE v_sql;
                                        LET v_sql = 'delete from ' || v_dep || ' where ' || v_depkey || v_in;
                                        EXECUTE IMMEDIATE v_sql;
                                        LET v_n = DBINFO('sqlca.sqlerrd2');
                                        LET v_moved = v_moved + v_n;
                                        UPDATE arc_stat SET n = n + v_n WHERE run = p_run AND tab = v_dep;
                                        IF DBINFO('sqlca.sqlerrd2') = 0 THEN
                                                INSERT INTO arc_stat VALUES (p_run, v_dep, v_n, NULL);
                                        END IF;
                                END FOREACH;
                                COMMIT WORK;
                                LET v_at = v_at + p_portion;
                        END WHILE;
                        RETURN v_tab, v_keys, v_moved || ' rows' WITH RESUME;
                END;
        END FOREACH;
        DROP TABLE IF EXISTS t_key;
END PROCEDURE
DOCUMENT 'archive_run (run, day, portion, dry)';

execute function col_list('shipment');
--> shp integer, day date, status char(1), weight decimal(8,2)|
execute function col_list('shp_event');
--> shp integer, at datetime year to minute, txt varchar(20)|
-- 1 July 2026 - 365 days is 1 July 2025: shipments 1, 2 and 5
execute procedure archive_run(1, mdy(7,1,2026), p_dry = 't');
--> shp_item|3|dry|
--> shp_event|2|dry|
--> shipment|3|dry|
--> no_such||-206 no_such|
select count(*) from systables where tabname like 'arc_sh%';
--> 0|
-- 3 items, 2 events, 3 shipments, in portions of two keys
execute procedure archive_run(2, mdy(7,1,2026), 2);
--> shipment|3|8 rows|
--> no_such||-206 no_such|
select run, tab, n, note from arc_stat order by run, tab;
--> 1|no_such||-206 no_such|
--> 2|no_such||-206 no_such|
--> 2|shipment|3||
--> 2|shp_event|2||
--> 2|shp_item|3||
select shp, day, status, weight, arc_run from arc_shipment order by shp;
--> 1|2025-01-10|D|10.00|2|
--> 2|2025-01-20|D|20.50|2|
--> 5|2025-02-01|X||2|
select a.shp, a.txt, e.at from arc_shp_item a, outer arc_shp_event e where e.shp = a.shp order by 1, 2;
--> 1|box|2025-01-11 08:00:00|
--> 1|crate|2025-01-11 08:00:00|
--> 5|pallet||
select shp from shipment order by shp;
--> 3|
--> 4|
execute procedure archive_run(3, mdy(7,1,2026));
--> shipment|0||
--> no_such||-206 no_such|
-- a dependant that the table does not know: nothing of the portion is moved
update arc_ctl set active = 'N' where tab in ('no_such', 'shp_item');
update shipment set status = 'X' where shp = 3;
execute procedure archive_run(4, mdy(7,1,2026));
--> error -692, 0, anna.fk_item_shp
rollback work;
select count(*) from arc_shipment;
--> 3|
select shp from shipment order by shp;
--> 3|
--> 4|
