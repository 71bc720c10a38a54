
DBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC10
create role "clerk" ;

grant dba to "informix";
grant connect to "public";
grant resource to "ledger";
grant "clerk" to "ledger" ;









{ TABLE "informix".country row size = 43 number of columns = 2 index size = 9 }

create table "informix".country 
  (
    code char(2) not null constraint "informix".n100_1,
    name varchar(40,10) not null constraint "informix".n100_2,
    primary key (code)  constraint "informix".pk_country
  ) in rootdbs extent size 16 next size 16 lock mode row;

revoke all on "informix".country from "public" as "informix";

{ TABLE "informix".customer row size = 317 number of columns = 12 index size = 
              31 }

create table "informix".customer 
  (
    customer_num serial not null ,
    fname char(15),
    lname nchar(15),
    company nvarchar(60),
    country char(2) 
        default 'DE' not null ,
    discount decimal(5,2) 
        default 0.00,
    credit money(16,2) 
        default 500.00,
    remark lvarchar(200),
    active boolean 
        default 't',
    born date,
    created datetime year to second 
        default current year to second not null ,
    changed_by char(32) 
        default user,
    
    check ((discount >= 0. ) AND (discount <= 100. ) ) constraint "informix".ck_discount,
    primary key (customer_num)  constraint "informix".pk_customer
  )  extent size 64 next size 32 lock mode row;

revoke all on "informix".customer from "public" as "informix";

{ TABLE "ledger".orders row size = 62 number of columns = 8 index size = 40 }

create table "ledger".orders 
  (
    order_num bigserial not null ,
    customer_num integer not null ,
    order_date date 
        default today,
    po_num varchar(20),
    state char(1) 
        default 'N' not null ,
    weight float,
    delay interval day(3) to hour,
    due datetime hour to minute,
    
    check (state IN ('N' ,'P' ,'S' )) constraint "ledger".ck_state,
    unique (po_num)  constraint "ledger".u_po
  ) 
  fragment by expression 
    (order_num < 100000 ) in datadbs1 ,
    (order_num >= 100000 ) in datadbs2 ,
    remainder in rootdbs  
  extent size 16 next size 16 lock mode row;

revoke all on "ledger".orders from "public" as "ledger";

{ TABLE "ledger".items row size = 34 number of columns = 5 index size = 24 }

create table "ledger".items 
  (
    item_num smallint,
    order_num int8 not null ,
    quantity smallint,
    price money(8,2),
    note char(10)
  ) with crcols  fragment by round robin partition p1 in datadbs1 , partition p2 in datadbs2  
  extent size 32 next size 32 lock mode page;

revoke all on "ledger".items from "public" as "ledger";

{ TABLE "ledger".audit row size = 28 number of columns = 3 index size = 0 }

create raw table "ledger".audit 
  (
    at datetime year to fraction(3),
    who char(8),
    count serial8 not null 
  ) 
  fragment by range(count) interval(10000) store in (datadbs1, datadbs2)
    partition p0 VALUES < 10000 in datadbs1 
  extent size 16 next size 16 lock mode row;

revoke all on "ledger".audit from "public" as "ledger";

{ TABLE "informix".sysmenus row size = 78 number of columns = 2 index size = 0 }

create table "informix".sysmenus 
  (
    menuname char(18),
    title char(60)
  )  extent size 16 next size 16 lock mode page;

revoke all on "informix".sysmenus from "public" as "informix";




grant select on "informix".country to "public" as "informix";
grant select on "informix".customer to "clerk" as "informix";
grant update (fname,lname) on "informix".customer to "clerk" as "informix";
grant insert on "informix".customer to "clerk" as "informix";
grant delete on "informix".customer to "clerk" as "informix";
grant index on "informix".customer to "clerk" as "informix";
grant alter on "informix".customer to "ledger" with grant option as "informix";
grant references on "informix".customer to "ledger" as "informix";
grant select on "ledger".orders to "public" as "ledger";

create sequence "ledger".receipt increment by 1 start with 1 maxvalue 9223372036854775807 minvalue 1 cache 20  order;
alter sequence "ledger".receipt restart with 4709;

revoke all on "ledger".receipt from "public" as "ledger";

grant select on "ledger".receipt to "clerk" as "ledger";

revoke usage on language SPL from public ;

grant usage on language SPL to public ;

create view "informix".active_customer (customer_num,lname,discount) as 
  select x0.customer_num ,x0.lname ,x0.discount from "informix".customer 
    x0 where (x0.active = 't' ) with check option ;

create view "ledger".open_order (order_num,company,total) as 
  select x0.order_num ,x1.company ,sum((x2.quantity * x2.price 
    ) ) from "ledger".orders x0 ,"informix".customer x1 ,outer("ledger".items 
    x2 ) where (((x0.customer_num = x1.customer_num ) AND (x2.order_num 
    = x0.order_num ) ) AND (x0.state = 'N' ) ) group by x0.order_num 
    ,x1.company ;

grant select on "informix".active_customer to "public" as "informix";
grant update on "informix".active_customer to "clerk" as "informix";


create synonym "ledger".buyer for "informix".customer;
create private synonym "ledger".nation for "informix".country;

create index "informix".ix_lname on "informix".customer (lname,fname 
    desc) using btree  in rootdbs;
create unique index "ledger".ux_items on "ledger".items (order_num,
    item_num) using btree  in datadbs1;
create unique cluster index "ledger".cx_orders on "ledger".orders 
    (order_num) using btree ;
create index "ledger".ix_date on "ledger".orders (order_date) using 
    btree  fragment by expression 
    (order_date < '01/01/2020' ) in datadbs1 ,
    remainder in datadbs2 ;

alter table "ledger".orders add constraint primary key (order_num) 
    constraint "ledger".pk_orders  ;

alter table "ledger".items add constraint unique (order_num,item_num) 
    constraint "ledger".u_items  ;


alter table "informix".customer add constraint (foreign key (country) 
    references "informix".country  constraint "informix".fk_country);
    
alter table "ledger".orders add constraint (foreign key (customer_num) 
    references "informix".customer  constraint "ledger".fk_customer);
    
alter table "ledger".items add constraint (foreign key (order_num) 
    references "ledger".orders  on delete cascade constraint "ledger"
    .fk_orders);


