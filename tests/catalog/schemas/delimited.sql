-- With DELIMIDENT: names in capital letters, with blanks, quotes, keywords and other signs.
CREATE TABLE "Item" (
    "Id" SERIAL PRIMARY KEY, "a b" INTEGER, "it's" VARCHAR(10) DEFAULT 'x', "q""q" INTEGER, "case" DATE, "--c" INTEGER,
    CHECK ("a b" > 0) CONSTRAINT "Ck A", UNIQUE ("case", "q""q") CONSTRAINT "U 1"
);
CREATE TABLE "a.b:c" ("semi;colon" VARCHAR(20), "{" INTEGER REFERENCES "Item" ("Id") ON DELETE CASCADE CONSTRAINT "F K");
CREATE FUNCTION "Up"(s VARCHAR(20)) RETURNING VARCHAR(20) WITH (NOT VARIANT); RETURN UPPER(s); END FUNCTION;
CREATE INDEX "Ix 1" ON "Item" ("a b" DESC, "it's");
CREATE INDEX ix_up ON "a.b:c" ("Up"("semi;colon"));
CREATE VIEW "V" ("X y") AS SELECT "a b" FROM "Item" WHERE "it's" = 'a';
CREATE SYNONYM "Syn" FOR "Item";
CREATE SEQUENCE "Seq";
CREATE TRIGGER "Trg" UPDATE OF "a b" ON "Item" REFERENCING OLD AS "O" NEW AS n
    FOR EACH ROW (INSERT INTO "a.b:c" VALUES ('x', "O"."Id"));
GRANT SELECT ("a b"), UPDATE ON "Item" TO bob;
