-- Routines, triggers, views, synonyms and sequences.
CREATE SEQUENCE tickets START WITH 100 INCREMENT BY -2 MAXVALUE 100 MINVALUE -1000 CYCLE CACHE 5 ORDER;
CREATE SEQUENCE plain_numbers NOCACHE;
CREATE TABLE account (id SERIAL PRIMARY KEY, owner VARCHAR(40), balance DECIMAL(12,2));
CREATE TABLE history (account INTEGER, was DECIMAL(12,2), now DECIMAL(12,2), note VARCHAR(200));
CREATE FUNCTION caps(s VARCHAR(40)) RETURNING VARCHAR(40) WITH (NOT VARIANT);
    RETURN UPPER(s);
END FUNCTION;
CREATE INDEX account_caps ON account (caps(owner) DESC);
CREATE DBA PROCEDURE move(source INTEGER, target INTEGER, INOUT amount DECIMAL(12,2) DEFAULT 1)
    ON EXCEPTION IN (-206)
        LET amount = 0;
    END EXCEPTION;
    -- A semicolon; and an END PROCEDURE' in a comment {and another}
    UPDATE account SET balance = balance - amount WHERE id = source;
    UPDATE account SET balance = balance + amount WHERE id = target;
END PROCEDURE
DOCUMENT 'moves; an amount';
CREATE FUNCTION "anna".numbers(n INTEGER) RETURNING INTEGER AS number, VARCHAR(20) AS name;
    DEFINE i INTEGER;
    FOR i = 1 TO n
        RETURN i, 'it''s ' || i WITH RESUME;
    END FOR;
END FUNCTION;
CREATE FUNCTION caps(s INTEGER) RETURNING INTEGER; RETURN s; END FUNCTION;
CREATE PROCEDURE note_change() REFERENCING OLD AS o NEW AS n FOR account;
    INSERT INTO history VALUES (o.id, o.balance, n.balance, 'by a trigger routine');
END PROCEDURE;
CREATE VIEW rich (id, owner) AS SELECT id, owner FROM account WHERE balance > 1000 WITH CHECK OPTION;
CREATE VIEW totals AS SELECT owner, SUM(balance) AS sum, COUNT(*) AS number FROM account GROUP BY owner;
CREATE SYNONYM konto FOR account;
CREATE PRIVATE SYNONYM wealthy FOR rich;
CREATE VIEW poor AS SELECT k.id FROM konto k WHERE k.id NOT IN (SELECT id FROM wealthy);
CREATE TRIGGER account_upd UPDATE OF balance ON account REFERENCING OLD AS o NEW AS n
    FOR EACH ROW WHEN (n.balance < 0) (INSERT INTO history VALUES (o.id, o.balance, n.balance, 'debt; see "it''s"'));
CREATE TRIGGER account_ins INSERT ON account BEFORE (EXECUTE PROCEDURE move(1, 2, 3)) DISABLED;
CREATE TRIGGER account_call DELETE ON account FOR EACH ROW (EXECUTE PROCEDURE note_change() WITH TRIGGER REFERENCES);
CREATE TRIGGER totals_ins INSTEAD OF INSERT ON totals REFERENCING NEW AS n
    FOR EACH ROW (INSERT INTO account (owner, balance) VALUES (n.owner, n.sum));
