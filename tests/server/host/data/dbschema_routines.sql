
DBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC11

{ DATABASE stock  delimiter | }

create role "clerk" ;

grant dba to "informix";
grant connect to "public";
grant resource to "ledger";
grant default role "clerk" to "ledger" ;











{ TABLE "informix".item row size = 86 number of columns = 7 index size = 18 }

{ unload file name = item_00100.unl number of rows = 2 }

create table "informix".item 
  (
    item_num serial not null ,
    name varchar(40) not null ,
    name_upper varchar(40),
    quantity integer 
        default 0 not null ,
    unit_price money(8,2),
    total_price money(10,2),
    active "informix".boolean 
        default 't',
    modified datetime year to fraction(3),
    
    check (quantity >= 0 ) constraint "informix".ck_quantity,
    primary key (item_num)  constraint "informix".pk_item
  ) 
  fragment by expression 
    (item_num < 1000 ) in datadbs1 ,
    remainder in datadbs2  
  extent size 64 next size 32 lock mode row;

revoke all on "informix".item from "public" as "informix";

{ TABLE "informix".item_log row size = 62 number of columns = 6 index size = 0 }

{ unload file name = item_00101.unl number of rows = 0 }

create table "informix".item_log 
  (
    item_num integer,
    action char(1),
    old_quantity integer,
    new_quantity integer,
    who varchar(32),
    at datetime year to fraction(3)
  )  extent size 16 next size 16 lock mode row;

revoke all on "informix".item_log from "public" as "informix";

{ TABLE "ledger".alert row size = 34 number of columns = 3 index size = 18 }

{ unload file name = alert00102.unl number of rows = 0 }

create table "ledger".alert 
  (
    alert_num bigserial not null ,
    item_num integer,
    message varchar(60),
    primary key (alert_num)  constraint "ledger".pk_alert
  )  extent size 16 next size 16 lock mode row;

revoke all on "ledger".alert from "public" as "ledger";




grant select on "informix".item to "clerk" as "informix";
grant update (quantity,unit_price) on "informix".item to "clerk" as "informix";
grant insert on "informix".item_log to "public" as "informix";
grant select on "ledger".alert to "public" as "ledger";


create synonym "ledger".article for "informix".item;


CREATE PROCEDURE "informix".log_item(p_num INTEGER, p_action CHAR(1), p_old INTEGER, p_new INTEGER)
-- writes one row; called by the triggers
    DEFINE v_user VARCHAR(32);

    LET v_user = USER;      { not the owner; the one
                              who changes the item }
    INSERT INTO item_log VALUES (p_num, p_action, p_old, p_new, v_user, CURRENT);
END PROCEDURE
DOCUMENT
    'Logs a change of an item; all of them.',
    'Called by triggers only.'
WITH LISTING IN '/usr/informix/log_item.lst';

CREATE FUNCTION "informix".price(p_quantity INTEGER, p_unit MONEY(8,2)) RETURNING MONEY(10,2) AS total;
    IF p_unit IS NULL THEN
        RETURN NULL;
    ELIF p_quantity > 100 THEN
        RETURN p_quantity * p_unit * 0.9;   -- discount
    END IF;
    RETURN p_quantity * p_unit;
END FUNCTION;

CREATE FUNCTION "informix".price(p_num INTEGER) RETURNING MONEY(10,2);
    DEFINE v_total MONEY(10,2);
    SELECT total_price INTO v_total FROM item WHERE item_num = p_num;
    RETURN v_total;
END FUNCTION;

CREATE PROCEDURE "ledger".watch(p_num INTEGER, p_quantity INTEGER)
    DEFINE v_sql, v_isam INTEGER;
    DEFINE v_text VARCHAR(60);

    ON EXCEPTION IN (-1202) SET v_sql, v_isam, v_text
        INSERT INTO alert VALUES (0, p_num, 'error ' || v_sql);
    END EXCEPTION;

    IF p_quantity < 5 THEN
        INSERT INTO alert VALUES (0, p_num, 'only ' || p_quantity || ' left; order more');
    END IF
END PROCEDURE;

CREATE PROCEDURE "informix".stamp() REFERENCING OLD AS o NEW AS n FOR item;
    LET n.modified = CURRENT;
    IF INSERTING OR n.name <> o.name THEN
        LET n.name_upper = UPPER(n.name);
    END IF;
END PROCEDURE;

CREATE DBA PROCEDURE "informix".stocks(p_from INTEGER DEFAULT 0) RETURNING INTEGER AS num, VARCHAR(40) AS name;
    DEFINE v_num INTEGER;
    DEFINE v_name VARCHAR(40);
    FOREACH SELECT item_num, name INTO v_num, v_name FROM item WHERE quantity >= p_from ORDER BY 1
        RETURN v_num, v_name WITH RESUME;
    END FOREACH;
END PROCEDURE;



revoke execute on procedure "informix".log_item (integer,char,integer,integer) from "public" as "informix";
grant execute on function "informix".price (integer,money) to "public" as "informix";
grant execute on function "informix".price (integer) to "clerk" as "informix";
grant execute on procedure "ledger".watch (integer,integer) to "public" as "ledger";


revoke usage on language SPL from public ;

grant usage on language SPL to public ;


create view "informix".cheap (item_num,name,price) as 
  select x0.item_num ,x0.name ,x0.total_price from "informix".item x0 
    where (x0.total_price < 50.0000000000000000 ) ;

create view "ledger".logged (item_num,name,changes) as 
  select x0.item_num ,x0.name ,count(*) from "informix".item x0 
    ,"informix".item_log x1 where (x0.item_num = x1.item_num ) group 
    by x0.item_num ,x0.name ;

revoke all on "informix".cheap from "public" as "informix";

grant select on "informix".cheap to "public" as "informix";


create index "informix".ix_name on "informix".item (name) using btree 
    ;
create index "informix".ix_log on "informix".item_log (item_num,at 
    desc) using btree  in datadbs2;

alter table "ledger".alert add constraint (foreign key (item_num) 
    references "informix".item  on delete cascade constraint "ledger"
    .fk_item);




create trigger "informix".item_ins insert on "informix".item referencing new 
    as new
    for each row
        (
        execute procedure "informix".stamp() with trigger references,
        execute function "informix".price(new.quantity ,new.unit_price ) 
            into "informix".item.total_price,
        execute procedure "informix".log_item(new.item_num ,'I' ,NULL ,new.quantity 
    ));

create trigger "informix".item_upd update of quantity,unit_price on "informix".item 
    referencing old as pre new as post
    for each row
        when ((pre.quantity != post.quantity ) )
            (
            execute procedure "informix".log_item(pre.item_num ,'U' ,pre.quantity 
    ,post.quantity ),
            execute procedure "ledger".watch(post.item_num ,post.quantity )),
        when ((NVL (pre.unit_price ,0 )!= NVL (post.unit_price ,0 )) )
            (
            insert into "informix".item_log (item_num,action,at)  values (pre.item_num 
    ,'P' ,CURRENT year to fraction(3) ))
    after
        (
        update "informix".item set "informix".item.total_price = "informix".price(quantity 
    ,unit_price )  where (unit_price IS NOT NULL ) );

create trigger "informix".item_name update of name on "informix".item referencing 
    old as old new as new
    for each row
        (
        execute procedure "informix".stamp() with trigger references);

create trigger "informix".item_del delete on "informix".item referencing 
    old as old
    for each row
        (
        insert into "informix".item_log (item_num,action,old_quantity,at) 
     values (old.item_num ,'D' ,old.quantity ,CURRENT year to fraction(3) ));

create trigger "informix".log_guard insert on "informix".item_log before
        (
        execute procedure "ledger".watch(0 ,0 )) disabled ;

create trigger "informix".cheap_ins instead of insert on "informix".cheap 
    referencing new as n
    for each row
        (
        insert into "informix".item (name,quantity,unit_price)  values 
    (n.name ,1 ,n.price ));


update statistics low for table "informix".item;
update statistics for procedure "informix".log_item;

