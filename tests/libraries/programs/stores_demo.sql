CREATE TABLE customer (
    customer_num SERIAL(101) PRIMARY KEY, fname CHAR(15), lname CHAR(15), company CHAR(20), address1 CHAR(20),
    address2 CHAR(20), city CHAR(15), state CHAR(2), zipcode CHAR(5), phone CHAR(18)
);
CREATE INDEX zip_ix ON customer (zipcode);
CREATE TABLE manufact (manu_code CHAR(3) PRIMARY KEY, manu_name CHAR(15), lead_time INTERVAL DAY(3) TO DAY);
CREATE TABLE stock (
    stock_num SMALLINT, manu_code CHAR(3) REFERENCES manufact, description CHAR(15), unit_price MONEY(6), unit CHAR(4),
    unit_descr CHAR(15), PRIMARY KEY (stock_num, manu_code)
);
CREATE TABLE orders (
    order_num SERIAL(1001) PRIMARY KEY, order_date DATE DEFAULT TODAY,
    customer_num INTEGER NOT NULL REFERENCES customer, ship_instruct CHAR(40),
    backlog CHAR(1) CHECK (backlog IN ('y', 'n')), po_num CHAR(10), ship_date DATE, ship_weight DECIMAL(8,2),
    ship_charge MONEY(6), paid_date DATE
);
CREATE TABLE items (
    item_num SMALLINT, order_num INTEGER REFERENCES orders ON DELETE CASCADE, stock_num SMALLINT NOT NULL,
    manu_code CHAR(3) NOT NULL, quantity SMALLINT CHECK (quantity >= 1), total_price MONEY(8),
    PRIMARY KEY (item_num, order_num), FOREIGN KEY (stock_num, manu_code) REFERENCES stock
);
CREATE TABLE state (code CHAR(2) PRIMARY KEY, sname CHAR(15), sales_tax DECIMAL(6,5));
CREATE TABLE call_type (call_code CHAR(1) PRIMARY KEY, code_descr CHAR(30));
CREATE TABLE cust_calls (
    customer_num INTEGER REFERENCES customer, call_dtime DATETIME YEAR TO MINUTE, user_id CHAR(32) DEFAULT USER,
    call_code CHAR(1) REFERENCES call_type, call_descr CHAR(240), res_dtime DATETIME YEAR TO MINUTE, res_descr CHAR(240),
    PRIMARY KEY (customer_num, call_dtime)
);
CREATE TABLE catalog (
    catalog_num SERIAL(10001) PRIMARY KEY, stock_num SMALLINT NOT NULL, manu_code CHAR(3) NOT NULL, cat_descr TEXT,
    cat_picture BYTE, cat_advert VARCHAR(255,65), FOREIGN KEY (stock_num, manu_code) REFERENCES stock
);
CREATE ROW TYPE name_t (first VARCHAR(20), last VARCHAR(20));
CREATE DISTINCT TYPE percent AS DECIMAL(5,2);
CREATE TABLE employee (
    emp_num SERIAL PRIMARY KEY, manager INTEGER REFERENCES employee, name name_t, bonus percent,
    home ROW(street LVARCHAR(100), city VARCHAR(20), since DATETIME YEAR TO MINUTE), phones SET(VARCHAR(20) NOT NULL),
    shifts LIST(DATETIME HOUR TO MINUTE NOT NULL), visits MULTISET(ROW(customer_num INTEGER, day DATE) NOT NULL),
    photo BLOB, resume CLOB, settings JSON, age INTERVAL YEAR TO MONTH, is_active BOOLEAN DEFAULT 't' NOT NULL
);
CREATE VIEW custview (firstname, lastname, company, city) AS
    SELECT fname, lname, company, city FROM customer WHERE city = 'Redwood City';
INSERT INTO customer (fname, lname, company, city) VALUES ('Ada', 'Byron', 'Engines', 'Redwood City');
INSERT INTO manufact VALUES ('HRO', 'Hero', INTERVAL (4) DAY TO DAY);
INSERT INTO stock VALUES (1, 'HRO', 'gloves', 250, 'case', '10 gloves/case');
INSERT INTO orders (order_date, customer_num, backlog, ship_charge) VALUES (MDY(5, 20, 2026), 101, 'n', 10);
INSERT INTO items VALUES (1, 1001, 1, 'HRO', 2, 500);
INSERT INTO employee (name) VALUES (ROW('Grace', 'Hopper')::name_t)
