-- What the tables of stores_demo lack of the demonstration database: its routines, triggers and views, in own words.
CREATE TABLE log_record (item_num SMALLINT, ord_num INTEGER, username CHAR(32), update_time DATETIME YEAR TO MINUTE,
    old_qty SMALLINT, new_qty SMALLINT);
CREATE TRIGGER upqty_i UPDATE OF quantity ON items
    REFERENCING OLD AS pre_upd NEW AS post_upd
    FOR EACH ROW (INSERT INTO log_record
        VALUES (pre_upd.item_num, pre_upd.order_num, USER, CURRENT, pre_upd.quantity, post_upd.quantity));
CREATE PROCEDURE read_address(lastname CHAR(15))
    RETURNING CHAR(15), CHAR(15), CHAR(20), CHAR(15), CHAR(2), CHAR(5);
    DEFINE p_lname, p_fname, p_city CHAR(15);
    DEFINE p_add CHAR(20);
    DEFINE p_state CHAR(2);
    DEFINE p_zip CHAR(5);
    -- 'one; row'
    SELECT fname, address1, city, state, zipcode INTO p_fname, p_add, p_city, p_state, p_zip
        FROM customer WHERE lname = lastname;
    RETURN p_fname, lastname, p_add, p_city, p_state, p_zip;
END PROCEDURE
DOCUMENT 'This procedure takes the last name of a customer as its only argument.',
    'It returns the full name and address.';
CREATE VIEW someorders (custnum, ocustnum, newprice) AS
    SELECT orders.order_num, items.order_num, items.total_price * 1.5
    FROM orders, items WHERE orders.order_num = items.order_num AND items.total_price > 100.00;
CREATE SYNONYM client FOR customer;
