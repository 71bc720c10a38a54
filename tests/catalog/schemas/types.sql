-- Types of users, columns of every type, typed and external tables.
CREATE ROW TYPE place (city VARCHAR(30) NOT NULL, at DATETIME YEAR TO SECOND);
CREATE ROW TYPE address (street LVARCHAR(200), number INTEGER) UNDER place;
CREATE DISTINCT TYPE euro AS DECIMAL(12,2);
CREATE DISTINCT TYPE price AS euro;
CREATE DISTINCT TYPE label AS LVARCHAR;
CREATE DISTINCT TYPE flag AS BOOLEAN;
CREATE DISTINCT TYPE spot AS place;
CREATE ROW TYPE shop (name VARCHAR(40), home address, costs euro, tags SET(VARCHAR(10) NOT NULL));
CREATE TABLE goods (
    id SERIAL PRIMARY KEY, cost euro, retail price, label label, sold flag, here place, shop shop, spot spot,
    tags SET(INTEGER NOT NULL), steps LIST(ROW(a INTEGER, b MULTISET(DATE NOT NULL)) NOT NULL), homes MULTISET(place NOT NULL),
    doc JSON, bin BSON, pic BLOB, body CLOB, old_pic BYTE, old_body TEXT,
    moment DATETIME MONTH TO DAY, frac DATETIME SECOND TO FRACTION(5), months INTERVAL YEAR(4) TO MONTH, ticks INTERVAL SECOND(5) TO FRACTION(2)
);
CREATE TABLE places OF TYPE place;
CREATE EXTERNAL TABLE incoming (a INTEGER, b VARCHAR(20)) USING (DATAFILES ('DISK:incoming.unl'), DELIMITER ';', MAXERRORS 5, REJECTFILE 'bad.unl');
CREATE RAW TABLE plain (a INTEGER);
