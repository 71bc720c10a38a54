-- Order entry: numbers from a SERIAL, prices and discounts, credit limits, states, copies.

create table customer
  (
    cust_no integer not null,
    name char(20),
    credit_limit decimal(10,2),
    discount_pct decimal(5,2),
    status char(1),
    primary key (cust_no) constraint pk_customer
  );
create table item
  (
    item_no char(8) not null,
    descr varchar(30),
    price decimal(10,2),
    primary key (item_no) constraint pk_item
  );
create table orders
  (
    order_no serial(1001) not null,
    cust_no integer,
    order_date date,
    state char(1) default 'O',
    total decimal(12,2) default 0,
    primary key (order_no) constraint pk_orders,
    foreign key (cust_no) references customer (cust_no) constraint fk_orders_cust
  );
create table order_line
  (
    order_no integer,
    line_no smallint,
    item_no char(8),
    qty integer,
    price decimal(10,2),
    amount decimal(12,2),
    primary key (order_no, line_no) constraint pk_order_line,
    foreign key (order_no) references orders (order_no) constraint fk_line_order
  );
insert into customer values (1, 'Harbour Stores', 1000, 5, 'A');
insert into customer values (2, 'Mill Lane Shop', 150, 0, 'A');
insert into customer values (3, 'Old Account', 500, 0, 'B');
insert into item values ('BOLT10', 'Bolt 10 mm', 0.35);
insert into item values ('DRILL', 'Hand drill', 89.90);
insert into item values ('GLUE', 'Wood glue', 7.25);

create procedure "dba".new_order(p_cust like customer.cust_no, p_date date default today)
  returning integer;

  -- Opens an order and gives its number.
  define v_status like customer.status;
  define v_no     integer;

  select status into v_status from customer where cust_no = p_cust;
  if v_status is null then
    raise exception -746, 0, 'unknown customer ' || p_cust;
  elif v_status <> 'A' then
    raise exception -746, 0, 'customer ' || p_cust || ' is blocked';
  end if;

  insert into orders (order_no, cust_no, order_date) values (0, p_cust, p_date);
  let v_no = dbinfo('sqlca.sqlerrd1');   { the SERIAL of the row }
  return v_no;

end procedure
document 'new_order(customer, date): opens an order',
         'returns the number of the order';

CREATE FUNCTION open_value(p_cust INTEGER) RETURNING DECIMAL(12,2) AS open_value;
    /* The value of all orders of a customer that are not finished. */
    DEFINE v_sum DECIMAL(12,2);

    SELECT SUM(total)
      INTO v_sum
      FROM orders
     WHERE cust_no = p_cust
       AND state IN ('O', 'R');
    IF v_sum IS NULL THEN
        LET v_sum = 0;
    END IF;
    RETURN v_sum;
END FUNCTION;

create procedure add_line(p_order integer, p_item char(8), p_qty integer default 1)
  returning smallint, decimal(12,2);

  define v_line   smallint;
  define v_cust   like customer.cust_no;
  define v_state  char(1);
  define v_price  like item.price;
  define v_disc   decimal(5,2);
  define v_limit, v_open, v_over decimal(12,2);
  define v_amount decimal(12,2);

  if p_qty is null or p_qty <= 0 then
    raise exception -746, 0, 'quantity must be positive';
  end if;

  select o.cust_no, o.state, c.discount_pct, c.credit_limit
    into v_cust, v_state, v_disc, v_limit
    from orders o, customer c
   where o.order_no = p_order and c.cust_no = o.cust_no;
  if v_cust is null then
    raise exception -746, 0, 'no order ' || p_order;
  end if;
  if v_state <> 'O' then
    raise exception -746, 1, 'order ' || p_order || ' is in state ' || v_state;
  end if;

  let v_price = (select price from item where item_no = p_item);
  if v_price is null then
    raise exception -746, 0, 'no item ' || trim(p_item);
  end if;

  -- quantity discount, in addition to the customer's
  let v_disc = v_disc + case when p_qty >= 1000 then 15
                             when p_qty >= 100  then 10
                             else 0 end;
  let v_amount = round(p_qty * v_price * (100 - v_disc) / 100, 2);

  let v_open = open_value(v_cust);
  if v_open + v_amount > v_limit then
    let v_over = v_open + v_amount - v_limit;
    raise exception -746, 0, 'limit of customer ' || v_cust || ' exceeded by ' || v_over;
  end if;

  select max(line_no) into v_line from order_line where order_no = p_order;
  let v_line = nvl(v_line, 0) + 1;
  insert into order_line values (p_order, v_line, p_item, p_qty, v_price, v_amount);
  update orders set total = total + v_amount where order_no = p_order;
  return v_line, v_amount;
end procedure;

CREATE PROCEDURE change_state(p_order INTEGER, p_new CHAR(1))
    DEFINE v_old CHAR(1);
    DEFINE v_ok  BOOLEAN;

    LET v_ok = 'f';
    SELECT state INTO v_old FROM orders WHERE order_no = p_order;
    IF SQLCODE = 100 THEN
        RAISE EXCEPTION -746, 0, 'no order ' || p_order;
    END IF;
    CASE v_old
        WHEN 'O' THEN
            IF p_new IN ('R', 'X') THEN
                LET v_ok = 't';
            END IF;
        WHEN 'R' THEN
            IF p_new IN ('O', 'S', 'X') THEN
                LET v_ok = 't';
            END IF;
        ELSE
            LET v_ok = 'f';     -- shipped and cancelled orders stay as they are
    END CASE;
    IF NOT v_ok THEN
        RAISE EXCEPTION -746, 0, v_old || ' to ' || p_new || ' is not allowed';
    END IF;
    UPDATE orders SET state = p_new WHERE order_no = p_order;
END PROCEDURE;

create procedure cancel_order(p_order integer) returning integer;
  define v_lines integer;
  call change_state(p_order, 'X');
  delete from order_line where order_no = p_order;
  let v_lines = dbinfo('sqlca.sqlerrd2');
  update orders set total = 0 where order_no = p_order;
  return v_lines;
end procedure;

create procedure copy_order(p_from integer, p_date date) returning integer, integer;
  -- Copies the lines with today's prices, numbered without gaps; items that are gone are left out.
  define v_new, v_count, v_qty, v_cust integer;
  define v_item char(8);
  define v_line smallint;
  define v_amount decimal(12,2);

  let v_count = 0;
  select cust_no into v_cust from orders where order_no = p_from;
  execute procedure new_order(v_cust, p_date) into v_new;
  foreach
    select item_no, qty into v_item, v_qty
      from order_line
     where order_no = p_from
     order by line_no
    if not exists (select * from item where item_no = v_item) then
      continue foreach;
    end if;
    call add_line(v_new, v_item, v_qty) returning v_line, v_amount;
    let v_count = v_count + 1;
  end foreach;
  return v_new, v_count;
end procedure;

execute procedure new_order(1, mdy(11, 27, 2026));
--> 1001|
execute procedure new_order(9);
--> error -746, 0, unknown customer 9
execute procedure new_order(3);
--> error -746, 0, customer 3 is blocked
-- 200 * 0.35 = 70.00, less 5 and 10 per cent: 59.50
execute procedure add_line(1001, 'BOLT10', 200);
--> 1|59.50|
-- 2 * 89.90 = 179.80, less 5 per cent: 170.81
execute procedure add_line(1001, 'DRILL', 2);
--> 2|170.81|
-- 3 * 7.25 = 21.75, less 5 per cent: 20.6625
execute procedure add_line(p_qty = 3, p_item = 'GLUE', p_order = 1001);
--> 3|20.66|
-- 59.50 + 170.81 + 20.66
select total, open_value(1) from orders where order_no = 1001;
--> 250.97|250.97|
execute procedure add_line(1001, 'GLUE', 0);
--> error -746, 0, quantity must be positive
execute procedure add_line(1001, 'NAIL', 1);
--> error -746, 0, no item NAIL
execute procedure add_line(77, 'GLUE', 1);
--> error -746, 0, no order 77

execute function new_order(2, mdy(11, 27, 2026));
--> 1002|
execute procedure add_line(1002, 'DRILL');
--> 1|89.90|
-- 89.90 + 89.90 - 150
execute procedure add_line(1002, 'DRILL');
--> error -746, 0, limit of customer 2 exceeded by 29.80
execute procedure change_state(1002, 'S');
--> error -746, 0, O to S is not allowed
execute procedure change_state(1002, 'R');
execute procedure add_line(1002, 'GLUE');
--> error -746, 1, order 1002 is in state R
execute procedure change_state(1002, 'S');
select order_no, state, total from orders where cust_no = 2;
--> 1002|S|89.90|
-- a shipped order is not open any more
execute function open_value(2);
--> 0.00|
execute procedure cancel_order(1002);
--> error -746, 0, S to X is not allowed
execute procedure change_state(4711, 'X');
--> error -746, 0, no order 4711

delete from item where item_no = 'DRILL';
update item set price = 0.40 where item_no = 'BOLT10';
execute procedure copy_order(1001, mdy(12, 1, 2026));
--> 1003|2|
-- 200 * 0.40 * 0.85 = 68.00; the glue is line 2 now
select line_no, item_no, qty, amount from order_line where order_no = 1003 order by line_no;
--> 1|BOLT10  |200|68.00|
--> 2|GLUE    |3|20.66|
execute procedure cancel_order(1001);
--> 3|
select order_no, order_date, state, total from orders order by order_no;
--> 1001|2026-11-27|X|0.00|
--> 1002|2026-11-27|S|89.90|
--> 1003|2026-12-01|O|88.66|
