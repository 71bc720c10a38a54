-- Owners, keys and indexes: named and not, over existing indexes, disabled, in circles; defaults of every kind.
CREATE TABLE "anna".region (
    id SERIAL NOT NULL, name NVARCHAR(60) NOT NULL, code CHAR(4) DEFAULT 'it''s', note VARCHAR(80,20) DEFAULT NULL,
    manager INTEGER,
    PRIMARY KEY (id) CONSTRAINT "anna".pk_region, UNIQUE (name, code) CONSTRAINT "anna".region_name
) EXTENT SIZE 64 NEXT SIZE 32 LOCK MODE ROW;
CREATE TABLE "bert".person (
    id BIGSERIAL, region INTEGER NOT NULL, born DATE DEFAULT TODAY, seen DATETIME YEAR TO FRACTION(3) DEFAULT CURRENT YEAR TO FRACTION(3),
    made_by CHAR(32) DEFAULT USER, made_at CHAR(64) DEFAULT DBSERVERNAME, rate DECIMAL(9,4) DEFAULT 1.5,
    units SMALLINT DEFAULT -3, pay MONEY(10,2) DEFAULT 12.5, on_day DATE DEFAULT '12/24/2026',
    at DATETIME HOUR TO MINUTE DEFAULT DATETIME(12:30) HOUR TO MINUTE, took INTERVAL DAY(3) TO HOUR DEFAULT INTERVAL(1 12) DAY(3) TO HOUR,
    active BOOLEAN DEFAULT 't', ratio FLOAT, part SMALLFLOAT, big INT8, wide LVARCHAR(3000), nick NCHAR(12), word NVARCHAR(40,5),
    loose DECIMAL(16), CHECK (units > -100 AND (rate < 3 OR pay IS NULL)), CHECK (nick <> 'x') CONSTRAINT nick_ck
);
CREATE UNIQUE INDEX "bert".person_ix ON "bert".person (id);
CREATE INDEX person_pay ON "bert".person (pay DESC, born, rate DESC);
CREATE CLUSTER INDEX person_seen ON "bert".person (seen);
CREATE INDEX person_off ON "bert".person (nick) DISABLED;
ALTER TABLE "bert".person ADD CONSTRAINT PRIMARY KEY (id) CONSTRAINT person_pk;
ALTER TABLE "bert".person ADD CONSTRAINT (FOREIGN KEY (region) REFERENCES "anna".region ON DELETE CASCADE CONSTRAINT person_region);
ALTER TABLE "anna".region MODIFY (manager BIGINT);
ALTER TABLE "anna".region ADD CONSTRAINT FOREIGN KEY (manager) REFERENCES "bert".person;
CREATE TABLE strict (a INTEGER CHECK (a > 0) CONSTRAINT strict_a DISABLED, b INTEGER UNIQUE);
SET CONSTRAINTS person_region DISABLED;
CREATE TABLE team (region INTEGER, number INTEGER, PRIMARY KEY (region, number));
CREATE TABLE member (id SERIAL8 PRIMARY KEY, region INTEGER, team INTEGER, boss INT8 REFERENCES member,
    FOREIGN KEY (region, team) REFERENCES team);
