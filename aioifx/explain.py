"""Cause and remedy of each code in `errors`, and all that is known of a pair of them. Never: a class, text or SQLSTATE.

It is loaded only to explain a code: catching errors needs only what `errors` holds. Numbers and their sense follow
the vendor's list of error messages; every sentence is our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from aioifx.errors import (
    ISAM_CODES,
    SQLCODES,
    DatabaseError,
    class_for,
    ends_session,
    is_retryable,
    meaning_of,
    sqlstate_of,
)


class Advice(NamedTuple):
    """The cause of a code, and what to do."""

    cause: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known of an SQLCODE, of its ISAM code, or of an ISAM code by itself."""

    sqlcode: int  # 0 for an ISAM code by itself
    isamcode: int  # 0 where there is none
    meaning: str  # what the SQLCODE says
    reason: str  # what the ISAM code says
    error: type[DatabaseError] | None  # None where an ISAM code leaves it to the SQLCODE
    sqlstate: str
    retryable: bool
    connection_usable: bool
    seen: bool  # from a real server, not only in the vendor's list
    advice: Advice


def explain(sqlcode: int, isamcode: int = 0) -> Explanation | None:
    """What a pair of codes means; sqlcode 0 asks for an ISAM code by itself. None when one of them is not known."""
    rule, reason = SQLCODES.get(sqlcode), ISAM_CODES.get(isamcode)
    if (sqlcode and rule is None) or (isamcode and reason is None) or (rule is None and reason is None):
        return None
    decides = reason is not None and reason.error is not None and (rule is None or rule.vague)
    error = class_for(sqlcode, isamcode) if rule or decides else None
    return Explanation(
        sqlcode=sqlcode,
        isamcode=isamcode,
        meaning=meaning_of(sqlcode) if rule else "",
        reason=reason.meaning if reason else "",
        error=error,
        sqlstate=sqlstate_of(sqlcode, isamcode) if rule else reason.sqlstate if reason else "",
        retryable=is_retryable(sqlcode, isamcode),
        connection_usable=not ends_session(error or DatabaseError, sqlcode),
        seen={code for code in (sqlcode, isamcode) if code} <= _SEEN,
        advice=_advice()[isamcode if decides or rule is None else sqlcode],
    )


def pairs(codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(SQLCODE, ISAM code) as people write them: an ISAM code after an SQLCODE is its reason. 0 for what is missing.

    The two kinds share no number, so each is known by itself; a number that is neither counts as an SQLCODE.
    """
    rest = list(codes)
    while rest:
        code = rest.pop(0)
        if code in ISAM_CODES:
            yield 0, code
        elif code in SQLCODES and rest and rest[0] in ISAM_CODES:
            yield code, rest.pop(0)
        else:
            yield code, 0


@cache
def _advice() -> dict[int, Advice]:
    """The book, read. An entry: its codes; the cause; after "> " the remedy."""
    book: dict[int, Advice] = {}
    for entry in _BOOK.strip().split("\n\n"):
        codes, _, text = entry.partition("\n")
        cause, _, remedy = text.partition("\n> ")
        advice = Advice(cause.replace("\n", " "), remedy.replace("\n", " "))
        book.update((int(code), advice) for code in codes.split())
    return book


# Seen from a real server by public projects, in their tests or in documentation of what they met. All others: the
# vendor's list only.
_SEEN: Final = frozenset(
    {-100, -111, -154, -157}
    | {-201, -202, -206, -208, -213, -217, -239, -244, -255, -258, -259, -260, -267, -268, -282, -285}
    | {-310, -329, -346, -363, -391, -408, -415, -526, -535, -555, -664, -674, -691, -692, -759, -761, -951}
    | {-1213, -1226, -9628, -9810, -23101, -23197}
)

_BOOK: Final = r"""
-239 -268 -100
Another row has this value already, in a column or a set of columns that must be unique.
> Give another value, or update the row that is there. An upsert is MERGE, or INSERT and on this error UPDATE.

-371
A unique index or constraint was to be made, and rows with equal values are in the table.
> Find them with GROUP BY and HAVING COUNT(*) > 1, and delete or change them first.

-271
The row is correct SQL but could not be stored: a duplicate, a lock, no space.
> Look at the ISAM code; explain both numbers together.

-346
The new values could not be stored: a duplicate, a lock, no space.
> Look at the ISAM code; explain both numbers together.

-292 -391 -703
The column is NOT NULL, or belongs to the primary key, and got NULL or no value and has no default.
> Give a value, or give the column a DEFAULT.

-386
A column is to become NOT NULL or part of a primary key, and rows have NULL in it.
> Fill them with UPDATE first: WHERE the column IS NULL.

-525
A foreign key was added or enabled, and rows have values that no parent has.
> Find them with NOT EXISTS, and delete or change them first.

-530
The values of the row break the condition of the check constraint that the message names.
> Correct the values. The condition is in the system catalog: syschecks, by way of sysconstraints.

-540
The server could not finish the check of a constraint while it wrote; this is seldom the data's fault.
> Look at the ISAM code, and at the server's message log.

-691
The foreign key has a value that no row of the referenced table has.
> Insert the parent first, or correct the value. Inside one transaction, SET CONSTRAINTS ALL DEFERRED helps.

-692
The row is to be deleted or its key changed, and rows of another table refer to it.
> Delete or change those rows first, or declare the foreign key with ON DELETE CASCADE.

-772
The table or index is fragmented by expression, and no expression takes this row.
> Add a fragment for such values, or a REMAINDER fragment, or correct the value.

-971
Rows break a constraint or unique index that is being enabled, or that is in filtering mode.
> Read the violations and diagnostics tables, correct the rows, and enable it again.

-201
The statement is not SQL as this server knows it. The note under the error points to the place, or just after it.
> Look at the word before the caret: a missing comma, a reserved word as a name, syntax of another database.

-202
A character stands in the statement that means nothing in SQL, often an invisible one from a copied text.
> Delete it. The note under the error writes such characters as Python does, for example \xa0.

-203 -204
A number in the statement is malformed or too large for its kind.
> Correct it, or send it as a parameter.

-280
A literal is longer than this server takes in the text of a statement.
> Send it as a parameter.

-282
A string or a quoted identifier begins, and the statement ends before it does. A quote inside was not doubled,
often.
> Double the quotes inside, or better, send the value as a parameter.

-283 -943
A comment begins and the statement ends before it does.
> Close it with } or with */, as it was opened.

-460
The text of the statement is longer than this server takes.
> Send values as parameters, or make several statements of it. Long lists for IN belong into a temporary table.

-543
ESCAPE of LIKE or MATCHES must be exactly one character.
> Give one character.

-554 -513
The statement belongs to another server product or to another release.
> Compare it with the guide to SQL of the server's release.

-555
SELECT and statements on databases cannot stand among several statements that are sent as one text.
> Send it by itself.

-944
FIRST, SKIP or LIMIT stands where this server does not take it, a subquery of an old release for example.
> Move it to the outermost SELECT, or read the rows by a derived table.

-200 -253
A name is longer than this server allows: 128 bytes, 18 on very old releases.
> Shorten it.

-111
The storage layer found no such record: no table of that name beside -206, no parent row beside -691.
> Explain the SQLCODE.

-206
The table is not there: a wrong name, another database, another owner in an ANSI database, dropped or not yet made.
> Check the name, and the database that is open. In an ANSI database write owner.table.

-217
No table of the query has a column of this name. Text in double quotes is a name where DELIMIDENT is set.
> Check the name and the table's alias; put text into single quotes, or send it as a parameter.

-218 -394
There is no synonym or view of this name for this owner.
> Check the name, the owner, and the database that is open.

-223
The same table stands twice in FROM, without aliases that tell the two apart.
> Give each an alias, and write it before every column.

-310 -390 -958
The name is taken, by a table, view, synonym or sequence.
> Choose another name, drop the old one first, or write CREATE TABLE IF NOT EXISTS.

-316 -625 -673 -743 -8301
An object of this kind has the name already.
> Choose another name, drop the old one first, or write IF NOT EXISTS where the statement has it.

-108 -350
An index on the same columns, in the same order, is there already; a constraint may have made it.
> Use that index. Its name is in the system catalog: sysindexes, sysconstraints.

-319 -518 -623 -894 -8300 -9628 -9992 -19804
No object of this kind has the name, in this database and for this owner.
> Check the name, the owner, and the database that is open.

-324
More than one table of the query has a column of this name.
> Write the table's name or alias before it.

-328
The table has a column of this name already.
> Choose another name.

-352 -537 -549
A definition names a column that the table does not have.
> Check the name in the system catalog: syscolumns.

-354 -909
The name is not one that a database or cursor can have.
> Write database, database@server or //server/database: letters, digits and underscores, a letter first.

-522
The select list names a table that is not in FROM, or names it although it has an alias.
> Add the table to FROM, or use its alias.

-674
No routine has this name and takes arguments of these types; or the user may not see it.
> Check the name and the number of arguments, and cast parameters: ?::INTEGER.

-9700
Several routines of this name fit these arguments equally well.
> Cast the arguments, so that only one fits.

-205
The view joins or groups tables, so its rows have no ROWID.
> Ask the table beneath for it, or better, use the primary key.

-219
LIKE and MATCHES compare text only.
> Cast the column, or compare with = and BETWEEN.

-249
A view or a temporary table is made from an expression that has no name.
> Give it one: SELECT a + b AS total.

-251
ORDER BY or GROUP BY has a number that is larger than the number of columns selected.
> Correct the number, or write the column's name.

-254
The statement has another number of placeholders than values were sent for.
> Count the question marks: those in strings and comments do not count.

-284
A subquery stands where one value is needed, and gave several rows.
> Narrow its WHERE, write IN for =, or take MAX() or FIRST 1.

-293
IS NULL and IS NOT NULL take a column, not an expression, on this server.
> Compare the columns of the expression one by one, or use NVL.

-294
The select list has aggregates, and a column that is neither in one nor in GROUP BY.
> Put the column into GROUP BY, or into MAX() or MIN().

-300 -301
GROUP BY has more columns, or longer ones, than the server can group by.
> Group by fewer, for example by a key in a derived table, and join the others.

-303
An expression uses a column both by itself and inside an aggregate.
> Compute the aggregate in a derived table, and combine it outside.

-304
HAVING may name only aggregates and columns of GROUP BY.
> Move the condition to WHERE, or put the column into GROUP BY.

-305 -307
A subscript, column[first,last], cuts a piece out of text; the column is none, or the numbers are no range.
> Use it on text only, with 1 as the first position, or write SUBSTR().

-306
The positions of a subscript lie outside the column.
> Keep both within 1 and the length of the column.

-308
The parts of a UNION have types that do not go together in some column.
> Cast one of them; NULL needs a cast, too.

-309
SELECT DISTINCT, or an old release, can order only by what it selects.
> Add the column to the select list.

-317
Each part of a UNION must select as many columns as the first.
> Add NULL::type for those that a part lacks.

-321 -544 -595
An aggregate stands in GROUP BY, in another aggregate, in WHERE or in another place before grouping.
> Compute it in a derived table, or move the condition to HAVING.

-360
The statement changes a table that its own subquery reads, and this server does not take that.
> Read into a temporary table first.

-367 -561
SUM and AVG take numbers and intervals.
> Cast the column, or sum a number that is made from it.

-374
The parts of a UNION name their columns differently, so ORDER BY takes positions.
> Write ORDER BY 1.

-393 -395 -396
The outer joins of the statement contradict each other, or lack a condition, in Informix's own OUTER syntax.
> Write LEFT OUTER JOIN .. ON .. instead.

-574
A subquery stands where one value is needed, and selects several columns.
> Select one column, or write EXISTS.

-575 -880 -946
The function takes text only.
> Cast the argument: ::VARCHAR(255). A parameter may need the cast, too.

-664 -717
The built-in function got another number of arguments, or one that it does not take.
> Compare the call with the guide to SQL of the server's release.

-726 -727 -728
DBINFO knows a fixed set of words as its first argument, and some of them need a second one.
> Write for example DBINFO('sqlca.sqlerrd1') or DBINFO('version', 'full').

-800
The branches of CASE or DECODE have types that do not go together.
> Cast them to one type; NULL needs a cast, too.

-879
What TRIM cuts off must be one character, or NULL.
> Give one character, or use LTRIM and RTRIM.

-9634 -9635 -9632 -9633
There is no way from the type that the value has to the type that is needed.
> Cast by way of a type that both know, text for example, or CREATE CAST.

-9643 -9644
DISTINCT, GROUP BY and = need types that can be compared and hashed; this one cannot.
> Compare a part of the value, or cast it to text.

-9877
The NULL in a ROW, SET, LIST or MULTISET has no type.
> Write NULL::type.

-227 -228 -511 -584
A table of the system catalog, or another that the server keeps for itself, is written only by the server.
> Use the statement that changes what the catalog describes: ALTER TABLE, GRANT, UPDATE STATISTICS.

-232
A value of SERIAL, once drawn, stays.
> Delete the row and insert it with another number, or declare the column INTEGER and use a sequence.

-234
The column is computed, so it takes no value; the target is a view, often.
> Leave it out of the list of columns.

-236 -505
The numbers of columns and of values are not equal. Without a list of columns INSERT needs a value for each.
> Write the list of columns, and count.

-277
UPDATE or DELETE .. WHERE CURRENT OF must name the table that the cursor reads.
> Name that table.

-364
The cursor was declared FOR UPDATE OF some columns, and this is none of them.
> Add it to the list, or write FOR UPDATE without one.

-384
The view joins, groups or computes, so the server cannot tell which rows to change.
> Change the tables beneath, or give the view an INSTEAD OF trigger.

-519
The new value is not one that the column may take.
> Compare it with the column's type and constraints.

-681
INSERT names a column twice.
> Name it once.

-207
SELECT .. INTO a table and FOR UPDATE exclude each other.
> Leave one of them out.

-235 -361 -650
The column would be longer than its type allows: CHAR 32767, VARCHAR 255, LVARCHAR 32739 bytes.
> Use a shorter one, or LVARCHAR, TEXT or CLOB.

-651
The second number of VARCHAR is the space to reserve; it cannot exceed the first.
> Make it smaller, or leave it out.

-269 -287
The rows that are there have no value for the new column, and it takes no NULL or counts by itself.
> Add it without NOT NULL, fill it, then MODIFY it; or give it a DEFAULT.

-286 -592
The column is a primary key or NOT NULL, and its default is NULL.
> Give another default, or none.

-591 -593 -594
The column's type does not take this default.
> Give one of the column's type, or none; SERIAL, BYTE and TEXT take none.

-295 -296
A foreign key can refer only to a table that is in the same database, and that its maker may refer to.
> Make the tables in one database, and have REFERENCES granted.

-297
A foreign key needs a primary key or unique constraint on just the columns that it refers to; an index is not
enough.
> Add the constraint to the parent: ALTER TABLE .. ADD CONSTRAINT UNIQUE (..).

-314 -705
Another session uses it at the moment.
> Try again when it is free, or wait with SET LOCK MODE TO WAIT.

-322
The statement takes tables, and this is a view.
> Drop the view and create it again.

-326 -550 -551 -517 -103
An index or constraint has more columns, or longer ones, than the server's page can hold.
> Take fewer or shorter columns, or put the table into a dbspace with larger pages.

-330
The database is there already, has an impossible name, or its dbspace is not there; or another session uses it.
> Look at the ISAM code; choose another name or dbspace.

-130
The dbspace that the statement or the configuration names does not exist.
> Check the name: SELECT name FROM sysmaster:sysdbspaces.

-337 -508 -509 -510 -532 -548 -576 -323
Temporary tables cannot have this: they belong to one session, and have no place in the system catalog.
> Do it in CREATE TEMP TABLE, do without, or use an ordinary table.

-356
A foreign key and what it refers to must have the same types; SERIAL goes with INTEGER.
> Change one of them.

-357
The view was made over a table that has been altered since.
> Drop the view and create it again.

-359
The database that is open cannot be dropped or renamed.
> CLOSE DATABASE first, or do it from another one, sysmaster for example.

-362
A table has one column of SERIAL, and one of SERIAL8 or BIGSERIAL, at most.
> Fill the other from a sequence.

-366
DECIMAL(p,s) has s digits out of p after the point.
> Make p at least s.

-370
A table has at least one column.
> Drop the table.

-382 -383
CREATE VIEW lists other names than its SELECT has columns, or none where one is an expression.
> Give one name for each column.

-500
Rows can lie in the order of one index only.
> ALTER INDEX .. TO NOT CLUSTER for the old one first.

-531 -542
The list names the same column twice.
> Name it once.

-533
An extent is at least four pages.
> Make it larger, or leave the clause out.

-536
A foreign key has another number of columns than the key that it refers to.
> Name as many.

-546
A view is stored as text, so it cannot have placeholders.
> Write literals, or put the condition into the queries on the view.

-559
A synonym can stand for a table or view, not for another synonym.
> Name the table itself.

-577 -704
The table has such a constraint on these columns already, or a primary key.
> Use that one, or drop it first.

-676 -677
A check constraint sees one row of one table: no other tables, no subqueries, no routines that read.
> Use a trigger.

-741
The table has a trigger for this event already, and the server takes one.
> Put both actions into one trigger.

-742
A trigger on DELETE and a foreign key with ON DELETE CASCADE exclude each other on this server.
> Keep one of them.

-785
ALTER TABLE would drop a column that decides in which fragment a row lies.
> Change the fragmentation first: ALTER FRAGMENT .. INIT.

-886 -887
A view, constraint or another user's privilege depends on it, and RESTRICT was asked for.
> Drop those first, or write CASCADE.

-893
An object that this one needs is disabled.
> Enable that first: SET CONSTRAINTS, INDEXES or TRIGGERS .. ENABLED.

-948
The index belongs to a constraint.
> Rename the constraint instead.

-972
ALTER TABLE was understood, and could not be carried out.
> Look at the ISAM code: a lock, no space, too long a transaction.

-974
SERIAL is always NOT NULL.
> Make it INTEGER first.

-8302 -8304 -8305
The numbers of a sequence contradict each other or exceed BIGINT.
> Let MINVALUE, START and MAXVALUE stand in this order, with an INCREMENT that is not 0.

-9604 -610 -9816
Values of this type cannot be in an index.
> Index a column beside it: a key, a hash, a piece of the text.

-9630
Columns, routines or casts use the type.
> Drop those first; sysxtdtypes, syscolumns and sysprocedures name them.

-9820 -9814
BLOB and CLOB are kept in an sbspace, and there is none of this name, or no default one.
> Have the administrator make one with onspaces, and set SBSPACENAME; or name another in PUT .. IN.

-440 -589 -1801
The transaction would change data on several servers, and one of them cannot take part in that.
> Commit between them, or let one server only read.

-527
The lock mode needs what the server's operating system does not have.
> Leave the lock mode as it is.

-528 -132
A row of the result or of the table is longer than the server can handle.
> Select fewer columns, or make long text LVARCHAR, TEXT or CLOB.

-568 -569 -570 -571
A statement reaches into a database with another kind of logging than the one that is open.
> Open a database with the same kind of logging, or have the kind changed with ontape or ondblog.

-999
The server knows the syntax and cannot do it. Of the embedded server of aioifx: it does not have this part of
Informix.
> Write it differently. What the embedded server has stands in its reference.

-272 -273 -274 -275 -506 -541 -545 -977
The user lacks this privilege on the table, or on one of the columns.
> Have its owner or a DBA GRANT it to the user, to PUBLIC, or to a role and SET ROLE.

-298 -299
The grant makes no sense to the server: the grant option for all, or a privilege for oneself.
> Name a user.

-302 -580 -514 -764 -19803
Only the owner, a user with the grant option, or a DBA may do this.
> Let one of them do it.

-313 -320 -579 -9629
Only the owner, or a DBA, may do this.
> Let one of them do it.

-315
The user lacks the INDEX privilege on the table.
> Have it granted: GRANT INDEX ON .. TO ..

-388
To make permanent tables and indexes the user needs the RESOURCE privilege on the database.
> Have a DBA say GRANT RESOURCE TO .., or use a temporary table.

-389
This needs the DBA privilege on the database.
> Have a DBA do it, or say GRANT DBA TO ..

-512
The foreign key refers to columns that the user may not refer to.
> Have it granted: GRANT REFERENCES ON .. TO ..

-706
The user may not run the routine; in an ANSI database it must be granted first.
> Have it granted: GRANT EXECUTE ON .. TO ..

-9997
The user may not use the type.
> Have it granted: GRANT USAGE ON TYPE .. TO ..

-19805
SET ROLE names a role that the user does not have.
> Have it granted: GRANT role TO user.

-387
The server knows the user, who has no CONNECT privilege on the database.
> Have a DBA say GRANT CONNECT TO ..

-950 -951 -952
The server's operating system, or its own list of users, does not know this user with this password. Recent releases
do not tell which of the two is wrong.
> Check both, for blanks at their ends, too. An expired or locked account gives the same error.

-956
Without a password the server must trust the client's host, and it does not.
> Give user and password. Trust is configured on the server's host: REMOTE_SERVER_CFG, hosts.equiv.

-960
The server's setting SECURITY_LOCALCONNECTION does not admit this local user.
> Log in as the user that runs the program, or from another host.

-25590
The network layer at the server could not establish who the client is.
> See the server's message log, and which service the listener's line in sqlhosts asks for.

-761 -25596
The option server (INFORMIXSERVER) must be the DBSERVERNAME or one of the DBSERVERALIASES of the server at this
address.
> Give the right name; the login reply carries it, and aioifx shows it. onstat -g cfg DBSERVERNAME tells it, too.

-905 -931
The service name of the server has no port in the list of services of the machine that looks it up.
> Give the port's number, or add the name to /etc/services there.

-906 -908 -930 -932 -907 -25588 -25599
No connection to the server came about: wrong host or port, the server is down, a firewall is between; or the server
itself could not reach another one that the statement names.
> Try the port with another program; see onstat - on the server's host, and its message log.

-954
The server's host does not know the client's.
> Have the client's address entered in DNS or in the list of hosts there.

-1809 -27002 -27010
The server runs, and takes no sessions of ordinary users at the moment.
> Wait; its administrator ends quiescent or administration mode with onmode -m.

-25571
The server cannot create a user thread: it has as many sessions as LIMITNUMSESSIONS allows, or lacks memory.
> Close unused connections, or make pools smaller; onstat -g ses shows which users hold them.

-27001
The connection ended while the login was under way. A server that is starting, full, or behind a proxy does that.
> Try again; look at the limits on sessions, and whether the port speaks SQLI, not DRDA or TLS.

-27009
The group's servers are all down or secondary.
> See which is primary: onstat -g dri; name a server of the group, or correct sqlhosts.

-329
The database does not exist on this server, or the user may not see it.
> Check the name: SELECT name FROM sysmaster:sysdatabases.

-349
The session has no open database: none was named at login, or it was closed.
> Name one in the options, or send DATABASE name first.

-358 -917
The statement opens or makes a database while another is open.
> CLOSE DATABASE first.

-377
DATABASE and CLOSE DATABASE end what the transaction works on.
> COMMIT or ROLLBACK first.

-407 -408 -929
The two ends of the connection do not understand each other: a proxy, another protocol on this port, or a defect.
> Check that the port is for SQLI (onsoctcp), not DRDA; then report it with a trace.

-410 -258 -260 -285
A message named a statement or cursor that the server does not have, or used it in the wrong way. That is a defect
of the client.
> Report it, with the statements that went before.

-425 -702
Another session has opened the database exclusively, or uses it while exclusive access is asked for.
> Try again later; onstat -g ses shows who it is.

-439
A request came while the server was still at work for the same session. That is a defect of the client.
> Report it, with the statements that went before.

-457 -459
The server crashed or was shut down, and the session with it. What was not committed is rolled back.
> Open a new connection when the server is up. Whether a COMMIT under way came through, only the data tells.

-759
The session was opened with a database in its login, and stays with it.
> Open a new connection for the other database.

-911 -914
A pipe on the server's host broke.
> Open a new connection; see the server's message log.

-912 -913 -955 -11020 -25580 -25582 -25583 -25586 -25587
The network connection broke: a restart, an idle time-out of a firewall, a cable. What was not committed is rolled
back.
> Open a new connection; keep idle ones alive. Whether a COMMIT under way came through, only the data tells.

-934 -936
The server works with another one for this statement, and lost it.
> Roll back and try again when the other server is up.

-1800 -715
The statement does not fit the state of the transaction, as the server sees it.
> ROLLBACK, and begin again.

-1802 -1803 -1805 -1806 -1807
These are about named connections of embedded SQL; a routine or gateway at the server passed one on.
> Look into what the statement calls.

-23101 -23109
The server has no files for the locale that the client asked for.
> Correct client_locale and db_locale, en_US.utf8 for example; glfiles on the server's host lists what it has.

-23103
A character does not exist in the other code set: text that was stored under a wrong locale, or does not fit the
database.
> Correct the locales, or the data. In a database with an 8-bit code set most of Unicode has no place.

-23104 -23105 -23115
The server has no table to convert between the client's code set and the database's.
> Set client_locale to the database's locale, or to another with utf8.

-23195 -23196 -23197
The database was made with another locale than db_locale says.
> SELECT dbs_collate FROM sysmaster:sysdbslocale tells the right one. Give it as db_locale.

-213 -157
The statement was interrupted: by a time-out, a cancelled task or an administrator.
> Run it again if it was not meant so. An open transaction is still open.

-220 -248
A savepoint could not be handled; it needs a transaction, and a server that knows savepoints.
> Look at the ISAM code; set savepoints inside a transaction only.

-237
BEGIN WORK failed: the log is not to be written, or a transaction is open.
> Look at the ISAM code, and at the server's message log.

-238
COMMIT failed. Whether the work is done, only the data tells.
> Read before you run the transaction again. The ISAM code says what went wrong.

-942
COMMIT found a deferred constraint that does not hold, or could not write; all of it is rolled back.
> Correct the data, and run the transaction again.

-241
ROLLBACK failed, which leaves the transaction in an unknown state.
> Close the connection; see the server's message log.

-233 -378 -107
Another transaction has changed or read the row and holds a lock on it, and this session does not wait.
> Run the transaction again; or have the session wait for locks: SET LOCK MODE TO WAIT 10.

-289 -113 -347
Another session has locked the table, or works in it while it is to be locked.
> Run the transaction again; or have the session wait for locks: SET LOCK MODE TO WAIT 10.

-144
Another transaction has inserted, changed or deleted the same key, or one beside it, and is not done.
> Run the transaction again; or have the session wait for locks: SET LOCK MODE TO WAIT 10.

-154
The lock was not free within the time of SET LOCK MODE TO WAIT, or of DEADLOCK_TIMEOUT among several servers.
> Run the transaction again, or wait longer. onstat -k and onstat -u show who holds it; short transactions help.

-143
Two transactions hold what the other one needs; the server picked this one to fail.
> Roll back and run it again from its beginning. Taking locks in one order everywhere avoids it.

-106
A definition is to be changed, and other sessions have the table open, readers with dirty reads among them.
> Try again when they are done, set IFX_DIRTY_WAIT, or SET ENVIRONMENT FORCE_DDL_EXEC.

-240 -243 -244 -245 -246 -250 -263 -348
The server knows which row it wants, and cannot have it. A lock of another session is the usual reason.
> Look at the ISAM code; explain both numbers together.

-242 -215
The table is in the catalog, and its storage cannot be opened: a lock, too many open files, damage.
> Look at the ISAM code; explain both numbers together.

-255
COMMIT, ROLLBACK or a cursor for update came outside a transaction; it has ended already, perhaps.
> BEGIN WORK first: async with conn.transaction().

-256 -582 -122 -128
The database was made without a log, so there are no transactions.
> Do without; or have a log added: ondblog or ontape -s -U on the server's host.

-265 -398
In a database with a log, this cursor needs a transaction.
> BEGIN WORK first: async with conn.transaction().

-278
The savepoint is gone, was never set, or lies before a statement that cannot be undone.
> Roll back the whole transaction.

-288
UNLOCK TABLE came for a table that this session has not locked.
> Leave it out; the end of a transaction unlocks anyhow.

-291
ALTER TABLE .. LOCK MODE needs the table for itself.
> Look at the ISAM code; try again when no other session uses the table.

-327
In a database with a log, tables are unlocked by the end of the transaction.
> COMMIT or ROLLBACK instead.

-458 -12204
One transaction filled a large part of the logical log (LTXHWM), and the server rolled it back.
> Make smaller transactions: commit every some thousand rows. Running it again as it is gives the same error.

-503 -134
The server's table of locks is full, or this session holds more than it may.
> Lock whole tables for large changes, commit more often, use a page lock mode, or raise LOCKS.

-504
Only tables can be locked.
> Lock the tables beneath the view.

-521
A definition changes the system catalog, and another session's definition is not committed yet.
> Try again when it is done.

-524
In a database with a log, LOCK TABLE lives as long as a transaction.
> BEGIN WORK first.

-535
BEGIN WORK came twice. In an ANSI database a transaction is always open.
> Use a savepoint, or leave BEGIN WORK out.

-572
SET LOCK MODE TO WAIT takes a number of seconds, and not any number.
> Give fewer, or none at all to wait without end.

-573
An ANSI database always has an unbuffered log.
> Leave SET LOG out.

-698 -699 -716
A transaction over several servers did not end in the same way on all of them.
> Compare the data of the servers that the message names; the administrator's guide has a chapter on it.

-700 -701
A transaction manager leads the transaction, so BEGIN, COMMIT, ROLLBACK and changes of the database are its own.
> End the transaction by way of the manager.

-710
The table was altered, dropped or renamed since the statement was prepared.
> Run it again: aioifx prepares it again.

-768 -874 -392 -9600 -172 -102 -101
The server met a state that it does not expect: a defect of the server, or damage.
> See its message log and assertion-failure files, and report it to its vendor.

-959
The server met an internal error and rolled the transaction back.
> See its message log; running it again may work or not.

-875 -876 -877
SET TRANSACTION comes once, before the first statement of a transaction, and READ ONLY does not go with dirty reads
for writing.
> Set it first, once; SET ISOLATION may be set at any time.

-878
The transaction was begun as read-only.
> Begin one that may write.

-208 -406 -1211 -116
The server, or the session's share of it, has no memory left.
> Close what is open: statements, cursors, idle sessions. The administrator raises SHMTOTAL or SHMVIRTSIZE.

-257
The session has more prepared statements and cursors than the server allows.
> Close those that are done with.

-259 -400 -413 -422 -262
The cursor was never opened or is closed. COMMIT and ROLLBACK close all that are not WITH HOLD.
> Read to the end before the transaction ends, or open it with hold.

-267 -404
The cursor is gone: closed by the end of a transaction, or released.
> Read to the end before the transaction ends, or open it with hold.

-266 -112
WHERE CURRENT OF needs a row that was just fetched, and the last fetch found none, or the row is gone.
> Fetch first; at the end there is no current row.

-276 -507 -598
No open cursor has this name in the session.
> Check the name, and that the cursor is open still.

-290
WHERE CURRENT OF needs a cursor that was declared FOR UPDATE.
> Add FOR UPDATE to its SELECT, or use the primary key.

-363
A cursor is for statements that give rows, and this one gives none.
> Execute it.

-365 -526
Rows for update come from one table, without UNION, GROUP BY or ORDER BY, and not by a scroll cursor.
> Simplify the SELECT, or update by the primary key.

-481
The statement's name is unknown in the session: never prepared, or freed.
> Prepare it again.

-482
The cursor can only read the next row.
> Open it as a scroll cursor.

-538 -586
A cursor of this name is declared or open already.
> Close it first, or use another name.

-611 -9605
A scroll cursor keeps rows in a temporary table, which cannot hold such values.
> Read them by an ordinary cursor, or by key.

-765
The statement was declared as a cursor, so it is opened, not executed.
> Open it, or prepare it again.

-890 -938
An insert cursor takes INSERT INTO .. VALUES with placeholders and literals only.
> Execute other statements one by one.

-385 -1214 -1215 -1284 -1222 -1223 -1200
The value is larger than its type holds.
> Use a larger type, or correct the value. One value of each integer type is NULL, so the range begins one later.

-1201 -1226
The number has more digits, or a larger exponent, than DECIMAL(p,s) holds.
> Round it first, or declare the column with more digits.

-415 -1260 -1208
A value came in a type that does not convert to the one that is needed.
> Send another type, or cast: ?::INTEGER.

-600 -602 -603 -604 -605 -618
A BYTE or TEXT value lies in pages of its own, and these could not be handled.
> Look at the ISAM code; explain both numbers together.

-608 -609 -619 -617
BYTE and TEXT are values of their own kind: they take parameters of that kind, not literals or each other.
> Send bytes for BYTE and str for TEXT.

-606 -162
The blobspace that a column names does not exist.
> Check the name, or write IN TABLE.

-607 -612 -613 -614 -615 -616
BYTE and TEXT can be stored and read, not compared, sorted or grouped.
> Keep what is compared in a column beside it, or use LVARCHAR.

-881
Concatenating or padding made a text that is longer than the type of the result.
> Cut the parts first, or cast them to LVARCHAR.

-1202
The divisor is zero.
> Exclude it in WHERE, or write CASE WHEN b = 0 THEN NULL ELSE a / b END.

-1203
MATCHES compares text with text.
> Cast both sides.

-1204 -1205 -1206 -1218 -1209 -1210 -1212
The text is not a date in the order that DBDATE, GL_DATE or the locale says.
> Send a datetime.date as a parameter: no format is involved then.

-1207 -1279
The value is longer than the place for it. Databases that are not ANSI cut text without a word instead, often.
> Make the column longer, or cut the value.

-1213 -1216 -1224
The text holds something that is not part of a number: a letter, a blank in the middle, a comma for the point.
> Correct it, or send a number as a parameter.

-1217 -1275 -1276 -1277 -1278
TO_CHAR, TO_DATE or a format variable has a pattern that is wrong, or that does not fit the text.
> Compare the pattern with the text, letter by letter.

-1233 -1263
A field of a time is out of its range: hour 24, minute 60, the 31st of a short month.
> Correct it, or send datetime values as parameters.

-1234
The function takes DATETIME, and got something else.
> Cast it: ::DATETIME YEAR TO SECOND.

-1261 -1262 -1264 -1270 -1271
The text is not a DATETIME or INTERVAL as its qualifier says: 2025-01-31 12:00:00 for YEAR TO SECOND.
> Correct it, or send datetime and timedelta values as parameters.

-1265 -1267
The result has more digits than the first field holds, or lies before year 1, after year 9999, or on no such day.
> Declare more digits: INTERVAL DAY(9) TO SECOND. A month added to the 31st needs ADD_MONTHS.

-1266
DATETIME and INTERVAL must have fields in common; years and months do not mix with days and smaller ones.
> EXTEND the DATETIME to the fields that are needed, or use another INTERVAL.

-1268
The qualifier's fields are in the wrong order, or more digits are asked for than a field has.
> Write the larger field first, and at most 9 digits for the first, 5 for FRACTION.

-8313 -8314
The sequence has given its last value and was made with NOCYCLE.
> ALTER SEQUENCE with a larger MAXVALUE, or with CYCLE.

-8315
CURRVAL repeats what NEXTVAL gave in this session, and that was not asked yet.
> Ask NEXTVAL first.

-9636
The value has more bytes than its opaque type takes.
> Make it shorter, or the type longer.

-9648
BOOLEAN takes 't' and 'f'.
> Send True or False as a parameter.

-9810 -9811 -9822 -12037 -12048 -12051 -12052 -12097
A large object could not be handled: it was deleted, its handle is not open or is open for something else.
> Look at the ISAM code. Handles live as long as the transaction that opened them.

-12092
The sbspace that keeps the large object is off line.
> Its administrator brings it back: onstat -d, onspaces -s.

-647
The argument lies outside what the function is defined for: the root or logarithm of a negative number.
> Exclude such values in WHERE, or by CASE.

-655 -656 -661 -684 -685
A routine returns another number of values than it declares, or than its caller has variables for.
> Compare RETURNING, RETURN and INTO.

-686
A function stands where one value is needed, and returns several rows.
> Call it with EXECUTE FUNCTION, or in FROM TABLE(FUNCTION ..).

-657 -675 -744
A routine or trigger has a statement that may not be in one.
> Send it from the program.

-659
A SELECT in a routine must put its row somewhere.
> Write SELECT .. INTO variables, FOREACH, or INTO TEMP.

-667 -669 -671
A name in a routine is not declared, or is given twice.
> Declare each variable once, in the block where it is used.

-668
SYSTEM started a command that does not exist or ended with an error.
> Try it on the server's host, as the user of the session.

-694 -695
The call of a routine has arguments that it does not declare.
> Compare the call with CREATE PROCEDURE; names of arguments must be those of its parameters.

-696
A routine uses a variable before it has a value.
> Give it one: LET, DEFAULT, or a SELECT .. INTO that finds a row.

-697
A FOR loop of a routine would never come to its end.
> Give a STEP that is not 0.

-721 -9793 -9794
The routine's code is out of date or its library cannot be loaded.
> Create it again; for external routines check the path of the library, and its rights.

-745 -9791
An action of a trigger, or code of an external routine, failed.
> See the ISAM code, and try what it does by hand.

-746 -937
The routine or its code raised this on purpose; the message is its own.
> Read the message; the routine's source says when it comes.

-747
A trigger changes or reads the table whose change set it off.
> Use a FOR EACH ROW action on OLD and NEW, or a second table.

-748
Triggers set off triggers, more than 61 deep: in a circle, most likely.
> Break the circle.

-209
The database was made by another release or product.
> Have it converted, or open it with the server that made it.

-211 -252 -311 -312
The system catalog cannot be read or written. The usual reason is a definition by another session that is not
committed.
> Look at the ISAM code: with a lock, try again; else see the server's message log.

-212 -216 -261 -214 -281 -502 -626 -682 -690
A definition or a constraint was understood, and its storage could not be handled: a lock, no space, damage.
> Look at the ISAM code; explain both numbers together.

-229 -230 -264 -270 -564 -565 -566 -567
The server sorts and joins by way of temporary files, and could not.
> See DBSPACETEMP and the space that is left there: onstat -d.

-397 -520 -105 -119 -155
Storage of the server is damaged.
> Stop writing; have its administrator run oncheck and see the message log.

-722 -762
The statement, or the routines that call each other, are nested deeper than the server's stack.
> Make it flatter: IN or a temporary table for thousands of ORs; the administrator may raise STACKSIZE.

-927
A statement may name only so many other servers.
> Split the statement.

-26040
The server could not start what it needs for encryption.
> See its message log.

-104
The server, or the session, has more files and tables open than it may.
> Close what is open: cursors, statements, sessions.

-109 -110 -114 -126 -127
A reason from the storage layer that the SQLCODE before it puts into words.
> Explain the SQLCODE.

-115 -118 -120 -121 -123 -149
A file or piece of memory that the server itself needs is not there.
> See its message log; its administrator must look into it.

-124
The storage layer was asked to end a transaction that has not begun.
> BEGIN WORK first.

-129 -190
The server has as many users or transactions as it can have.
> Close idle sessions; a smaller pool helps.

-131 -199 -166 -179 -12031
The dbspace, blobspace or sbspace is full.
> Its administrator adds a chunk: onstat -d shows what is left.

-135 -171
The table was dropped or rebuilt while the statement was on its way to it.
> Run it again.

-136
The table's page has no room for another extent, though the dbspace may have.
> Rebuild the table with larger extents, or defragment it.

-140 -7352
The session is with a secondary server, and those only read, or write some things only.
> Connect to the primary.

-158 -196
The place takes no such operation: sysmaster's tables only read, temporary dbspaces keep nothing.
> Use an ordinary table in an ordinary dbspace.

-168
An archive is being made, and blobspace pages are not given out meanwhile.
> Try again when it is done.

-178 -186
An administrator's change is under way on the database or the table.
> Try again when it is done.

-187
An external routine failed beneath the statement.
> See its own message, and the server's message log.

-197
A table that was loaded without logging is read-only until it has been archived.
> Have a level-0 archive made.

-198
Alterations in place have piled up on pages that were not rewritten since.
> Rewrite the rows: UPDATE a column to itself, then alter again.

-7350
Another session changed the row on the primary server since this one read it on a secondary.
> Read it again, and decide again.

-7351
The secondary server cannot pass a write on.
> Connect to the primary.
"""
