-- Collections and rows: offers as lists, coupons as sets, addresses as rows, texts that become lists.

create row type address_t (street varchar(30), zip char(5), city varchar(20));
create row type tier_t (from_qty integer, pct decimal(5,2));
create table product (sku char(6) primary key, price decimal(8,2), tags set(varchar(10) not null),
                      tiers list(tier_t not null));
create table shopper (shopper integer primary key, name varchar(20), ship_to address_t,
                      coupons set(varchar(10) not null), seen list(char(6) not null));
create table shop_order (ord serial, shopper integer, total decimal(10,2), goods multiset(char(6) not null), ship_to address_t);
insert into product values ('PEN', 2.00, set{'office', 'small'}, list{row(10, 5)::tier_t, row(100, 12.5)::tier_t});
insert into product values ('DESK', 199.90, set{'office', 'bulky'}, list{row(2, 10)::tier_t});
insert into product values ('LAMP', 35.00, set{'light'}, null);
insert into shopper values (1, 'Ivo', row('Mill Road 5', '12345', 'Bath')::address_t, set{'OFFICE10', 'FREE'}, null);
insert into shopper values (2, 'Una', null, set{'OFFICE10'}, list{'PEN', 'LAMP'});

create function split_list(p_text lvarchar(500), p_sep char(1) default ',') returning list(varchar(20) not null);
  -- "a, b,c" becomes LIST{'a','b','c'}; nothing between separators is left out
  define l list(varchar(20) not null);
  define i, j integer;
  define v varchar(20);
  let l = list{};
  let i = 1;
  while i <= length(p_text)
    let j = i;
    while j <= length(p_text) and substr(p_text, j, 1) <> p_sep
      let j = j + 1;
    end while;
    let v = trim(substr(p_text, i, j - i));
    if length(v) > 0 then
      insert into table(l) values (v);
    end if;
    let i = j + 1;
  end while;
  return l;
end function;

CREATE PROCEDURE checkout (p_shopper INTEGER, p_goods LVARCHAR(500))
   RETURNING INTEGER AS ord, DECIMAL(10,2) AS goods, DECIMAL(10,2) AS off, DECIMAL(10,2) AS freight, VARCHAR(40) AS note;
   /* Goods: "PEN*12, DESK". The price of each depends on the tier of its quantity. Of the coupons one is used:
      OFFICE10 takes ten per cent from what is tagged 'office', FREE the freight, which bulky goods make dearer. */
   DEFINE v_goods      LIST(VARCHAR(20) NOT NULL);
   DEFINE v_coupons    SET(VARCHAR(10) NOT NULL);
   DEFINE v_tags       SET(VARCHAR(10) NOT NULL);
   DEFINE v_tiers      LIST(tier_t NOT NULL);
   DEFINE v_seen       LIST(CHAR(6) NOT NULL);
   DEFINE v_all        MULTISET(CHAR(6) NOT NULL);
   DEFINE v_to         address_t;
   DEFINE v_item       VARCHAR(20);
   DEFINE v_sku        CHAR(6);
   DEFINE v_qty, v_at, v_n, v_pos   INTEGER;
   DEFINE v_from       INTEGER;
   DEFINE v_pct, v_best             DECIMAL(5,2);
   DEFINE v_price, v_sum, v_office, v_off, v_freight  DECIMAL(10,2);
   DEFINE v_line       DECIMAL(10,2);
   DEFINE v_note       VARCHAR(40);
   DEFINE v_bulky      BOOLEAN;

   SELECT coupons, NVL(seen, LIST{}), ship_to INTO v_coupons, v_seen, v_to FROM shopper WHERE shopper = p_shopper;
   IF SQLCODE = 100 THEN
      RAISE EXCEPTION -746, 0, 'no shopper ' || p_shopper;
   END IF;
   LET v_goods = split_list(p_goods);
   IF CARDINALITY(v_goods) = 0 THEN
      RETURN NULL, NULL, NULL, NULL, 'nothing';
   END IF;

   LET v_sum, v_office, v_off, v_freight = 0, 0, 0, 4.90;
   LET v_bulky = 'f';
   LET v_note = NULL;
   LET v_all = MULTISET{};
   LET v_pos = 0;

   FOREACH SELECT * INTO v_item FROM TABLE(v_goods)
      LET v_pos = v_pos + 1;
      LET v_at = INSTR(v_item, '*');
      IF v_at > 0 THEN
         LET v_sku = UPPER(SUBSTR(v_item, 1, v_at - 1));
         LET v_qty = SUBSTR(v_item, v_at + 1);
      ELSE
         LET v_sku, v_qty = UPPER(v_item), 1;
      END IF;

      LET v_price = NULL;
      SELECT price, tags, tiers INTO v_price, v_tags, v_tiers FROM product WHERE sku = v_sku;
      IF v_price IS NULL THEN
         RAISE EXCEPTION -746, v_pos, 'no product ' || TRIM(v_sku);
      END IF;

      LET v_best = 0;
      IF v_tiers IS NOT NULL THEN
         FOREACH SELECT from_qty, pct INTO v_from, v_pct FROM TABLE(v_tiers)
            IF v_qty >= v_from AND v_pct > v_best THEN
               LET v_best = v_pct;
            END IF;
         END FOREACH;
      END IF;
      LET v_line = ROUND(v_qty * v_price * (100 - v_best) / 100, 2);
      LET v_sum = v_sum + v_line;
      IF 'office' IN v_tags THEN LET v_office = v_office + v_line; END IF;
      IF 'bulky' IN v_tags THEN LET v_bulky = 't'; END IF;

      FOR v_n = 1 TO v_qty
         INSERT INTO TABLE(v_all) VALUES (v_sku);
         EXIT FOR WHEN v_n = 3;                      -- three of a kind are enough for the picture
      END FOR;
      IF NOT (v_sku IN v_seen) THEN
         INSERT AT 1 INTO TABLE(v_seen) VALUES (v_sku);
      END IF;
   END FOREACH;

   IF v_bulky THEN LET v_freight = v_freight + 25; END IF;
   IF v_sum >= 500 THEN LET v_freight = 0; END IF;

   -- the coupon that is worth more; it is used up
   LET v_line = ROUND(v_office / 10, 2);
   IF 'OFFICE10' IN v_coupons AND v_line > 0
      AND (v_line >= v_freight OR NOT ('FREE' IN v_coupons)) THEN
      LET v_off, v_note = v_line, 'OFFICE10';
   ELIF 'FREE' IN v_coupons AND v_freight > 0 THEN
      LET v_off, v_note = v_freight, 'FREE';
   END IF;
   IF v_note IS NOT NULL THEN
      FOREACH c_coupon FOR SELECT * INTO v_item FROM TABLE(v_coupons)
         IF v_item = v_note THEN
            DELETE FROM TABLE(v_coupons) WHERE CURRENT OF c_coupon;
         END IF;
      END FOREACH;
   END IF;

   IF v_to IS NULL THEN
      LET v_to = ROW('Shop counter', '00000', 'Bath')::address_t;
   END IF;
   INSERT INTO shop_order (ord, shopper, total, goods, ship_to)
   VALUES (0, p_shopper, v_sum - v_off + v_freight, v_all, v_to);
   UPDATE shopper SET coupons = v_coupons, seen = v_seen WHERE shopper = p_shopper;
   RETURN DBINFO('sqlca.sqlerrd1'), v_sum, v_off, v_freight, v_note;
END PROCEDURE;

select split_list('a, b,,c ,'), cardinality(split_list(' ')), split_list('x;y', ';') from sysmaster:sysdual;
--> LIST{'a','b','c'}|0|LIST{'x','y'}|
execute procedure checkout(9, 'PEN');
--> error -746, 0, no shopper 9
execute procedure checkout(1, ' , ');
--> ||||nothing|
execute procedure checkout(1, 'PEN, BOOK*2');
--> error -746, 2, no product BOOK
execute procedure checkout(1, 'PEN*x');
--> error -1213, 0
-- 12 * 2.00 less 5 per cent is 22.80, a desk 199.90; office 222.70, of which 22.27 is less than 29.90 of freight
execute procedure checkout(1, 'pen*12, desk');
--> 1|222.70|29.90|29.90|FREE|
select coupons, seen from shopper where shopper = 1;
--> SET{'OFFICE10'}|LIST{'DESK  ','PEN   '}|
select total, goods, ship_to.city from shop_order where ord = 1;
--> 222.70|MULTISET{'PEN   ','PEN   ','PEN   ','DESK  '}|Bath|
-- 3 desks less 10 per cent are 539.73, a lamp is 35.00: no freight; 53.97 off
execute procedure checkout(1, 'DESK*3,lamp');
--> 2|574.73|53.97|0.00|OFFICE10|
select cardinality(coupons), seen from shopper where shopper = 1;
--> 0|LIST{'LAMP  ','DESK  ','PEN   '}|
-- a lamp is not for the office, so the coupon stays; 35.00 + 4.90
execute procedure checkout(2, 'Lamp');
--> 3|35.00|0.00|4.90||
select s.coupons, s.seen, o.total, o.ship_to.street
  from shopper s, shop_order o
 where s.shopper = 2 and o.shopper = 2;
--> SET{'OFFICE10'}|LIST{'PEN   ','LAMP  '}|39.90|Shop counter|
-- 120 * 2.00 less 12.5 per cent
execute procedure checkout(2, 'PEN*120');
--> 4|210.00|21.00|4.90|OFFICE10|
