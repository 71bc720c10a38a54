-- Sets, lists, rows and global variables: tags, queues, addresses, counters that a session keeps.

create row type address_t (street varchar(20), city varchar(15), zip char(5));
create table contact
  (
    id integer primary key,
    name varchar(20),
    home address_t,
    tags set(varchar(10) not null),
    calls list(integer not null)
  );
insert into contact values (1, 'Okafor', row('1 Quay', 'Lagos', '10100')::address_t,
    set{'vip', 'export'}, list{5, 3, 5});
insert into contact values (2, 'Petrov', null, set{'vip'}, list{});

create procedure change_tags (p_id integer, p_add varchar(10), p_remove varchar(10)) returning integer;
    -- Writes the set as text, which is converted when it is assigned; returns the number of tags then.
    define v_tags, v_new set(varchar(10) not null);
    define v_tag varchar(10);
    define v_text lvarchar(200);

    select tags into v_tags from contact where id = p_id;
    let v_text = '';
    if p_add is not null and p_add not in v_tags then
        let v_text = ',''' || p_add || '''';
    end if;
    foreach select * into v_tag from table(v_tags)
        if p_remove is null or v_tag <> p_remove then
            let v_text = v_text || ',''' || v_tag || '''';
        end if;
    end foreach;
    let v_new = 'SET{' || substr(v_text, 2) || '}';
    update contact set tags = v_new where id = p_id;
    return cardinality(v_new);
end procedure;

create procedure remove_tag (p_tag varchar(10)) returning integer as contacts;
    define v_id, v_n, v_size integer;
    let v_n = 0;
    foreach select id into v_id from contact where p_tag in tags order by id
        call change_tags(v_id, null, p_tag) returning v_size;
        let v_n = v_n + 1;
    end foreach;
    return v_n;
end procedure;

create procedure tidy_calls (p_id integer, p_least integer) returning list(integer not null);
    -- Deletes short calls, rounds long ones to tens, and puts the number of deleted ones in front; from 100 on, deletes all.
    define v_calls list(integer not null);
    define v_one, v_deleted integer;
    select calls into v_calls from contact where id = p_id;
    let v_deleted = 0;
    foreach one for select * into v_one from table(v_calls)
        if v_one < p_least then
            delete from table(v_calls) where current of one;
            let v_deleted = v_deleted + 1;
        elif v_one > 9 then
            update table(v_calls)(x) set x = round(v_one, -1) where current of one;
        end if;
    end foreach;
    insert at 1 into table(v_calls) values (v_deleted);
    if p_least > 99 then
        delete from table(v_calls);
    end if;
    update contact set calls = v_calls where id = p_id;
    return v_calls;
end procedure;

CREATE FUNCTION call_statistics (p_id INTEGER) RETURNING INTEGER AS n, INTEGER AS total, INTEGER AS longest;
    -- The elements one by one, and by a query over the variable.
    DEFINE v_calls LIST(INTEGER NOT NULL);
    DEFINE v_one, v_total, v_n, v_longest INTEGER;
    SELECT calls INTO v_calls FROM contact WHERE id = p_id;
    LET v_total, v_n = 0, 0;
    FOREACH SELECT * INTO v_one FROM TABLE(v_calls)
        LET v_total = v_total + v_one;
        LET v_n = v_n + 1;
    END FOREACH;
    SELECT MAX(x) INTO v_longest FROM TABLE(v_calls) AS t(x);
    RETURN v_n, v_total, v_longest;
END FUNCTION;

create procedure move_contact (p_id integer, p_street varchar(20), p_city varchar(15), p_zip char(5))
    returning varchar(60);
    define v_old, v_new address_t;
    define v_text varchar(60);
    define v_city varchar(15);
    let v_new = row(p_street, p_city, p_zip)::address_t;
    select home into v_old from contact where id = p_id;
    update contact set home = v_new where id = p_id;
    if v_old is null then
        let v_text = 'new';
    else
        let v_text = 'moved';
    end if;
    select c.home.city into v_city from contact c where c.id = p_id;
    return v_text || ' in ' || v_city;
end procedure;

create procedure set_context (p_user varchar(20), p_depth smallint default 0)
    define global g_user varchar(20) default 'nobody';
    define global g_depth smallint default 0;
    let g_user = p_user;
    let g_depth = p_depth;
end procedure;

CREATE FUNCTION context_text () RETURNING VARCHAR(40);
    DEFINE GLOBAL g_user VARCHAR(20) DEFAULT 'nobody';
    DEFINE GLOBAL g_depth SMALLINT DEFAULT 0;
    RETURN g_user || ' at ' || g_depth;
END FUNCTION;

create procedure descend (p_n smallint) returning smallint as depth, varchar(40) as text;
    -- Each level sees the depth that the one above has left.
    define global g_depth smallint default 0;
    define v_depth smallint;
    define v_text varchar(40);
    let g_depth = g_depth + 1;
    return g_depth, context_text() with resume;
    if p_n > 1 then
        foreach execute procedure descend(p_n - 1) into v_depth, v_text
            return v_depth, v_text with resume;
        end foreach;
    end if;
    let g_depth = g_depth - 1;
end procedure;

execute procedure change_tags(1, 'late', null);
--> 3|
execute procedure change_tags(1, 'vip', null);
--> 3|
select id, cardinality(tags) from contact where 'late' in tags;
--> 1|3|
execute procedure remove_tag('vip');
--> 2|
execute procedure remove_tag('vip');
--> 0|
select id, cardinality(tags) from contact order by id;
--> 1|2|
--> 2|0|
-- 5 + 3 + 5: a list keeps equal elements
execute function call_statistics(1);
--> 3|13|5|
execute function call_statistics(2);
--> 0|0||
update contact set calls = list{3, 14, 2, 26, 3, 9} where id = 2;
-- 3, 2 and 3 are deleted; 14 and 26 become 10 and 30; 9 stays
execute procedure tidy_calls(2, 4);
--> LIST{3,10,30,9}|
execute procedure tidy_calls(2, 40);
--> LIST{4}|
execute procedure tidy_calls(2, 100);
--> LIST{}|
select cardinality(calls) from contact where id = 2;
--> 0|
execute procedure move_contact(1, '2 Hill', 'Accra', '00233');
--> moved in Accra|
execute procedure move_contact(2, '3 Bay', 'Sofia', '1000');
--> new in Sofia|
select c.id, c.home.street, c.home.zip from contact c order by c.id;
--> 1|2 Hill|00233|
--> 2|3 Bay|1000 |
execute function context_text();
--> nobody at 0|
execute procedure set_context('ines');
execute procedure descend(3);
--> 1|ines at 1|
--> 2|ines at 2|
--> 3|ines at 3|
execute function context_text();
--> ines at 0|
execute procedure set_context('jo', 7);
execute function context_text();
--> jo at 7|
