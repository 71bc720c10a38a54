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
Another row already has this value in a column, or set of columns, that must be unique.
> Use another value, or update the existing row. For an upsert, use MERGE, or INSERT and on this error UPDATE.

-371
A unique index or constraint cannot be created because rows in the table have equal values.
> Find them with GROUP BY and HAVING COUNT(*) > 1, and delete or change them first.

-271
The statement is valid, but the row could not be stored: for example a duplicate, a lock, or no space.
> Look at the ISAM code; explain both numbers together.

-346
The new values could not be stored: for example a duplicate, a lock, or no space.
> Look at the ISAM code; explain both numbers together.

-292 -391 -703
The column is NOT NULL or belongs to the primary key. It was set to NULL, or got no value and has no default.
> Give a value, or give the column a DEFAULT.

-9978
The elements of a SET, LIST or MULTISET are NOT NULL.
> Leave the NULL out.

-386
The column cannot become NOT NULL or part of a primary key because rows contain NULL in it.
> Fill them with UPDATE first: WHERE the column IS NULL.

-525
A foreign key was added or enabled, and rows have values that do not exist in the parent table.
> Find them with NOT EXISTS, and delete or change them first.

-530
The row violates the condition of the check constraint that the message names.
> Correct the values. The condition is in the system catalog: join syschecks with sysconstraints.

-540
The server could not complete a constraint check while writing. The data is seldom the cause.
> Look at the ISAM code, and at the server's message log.

-691
The foreign key has a value that no row of the referenced table has.
> Insert the parent first, or correct the value. Inside one transaction, SET CONSTRAINTS ALL DEFERRED helps.

-692
Rows of another table refer to the row that is being deleted, or whose key is being changed.
> Delete or change those rows first, or declare the foreign key with ON DELETE CASCADE.

-772
The table or index is fragmented by expression, and the row matches none of the expressions.
> Add a fragment for such values, or a REMAINDER fragment, or correct the value.

-896
A row violates a constraint or unique index in FILTERING mode, but the table has no violations table to file it in.
> START VIOLATIONS TABLE FOR the table, or enable the constraint.

-899
The statement would add more rows to the diagnostics table than MAX ROWS allows. It has been undone.
> Correct the rows, or stop the violations tables and start them with a higher MAX ROWS.

-971
Rows violate a constraint or unique index that is being enabled, or that is in filtering mode.
> Read the violations and diagnostics tables, correct the rows, and enable it again.

-201
The statement is not valid SQL for this server. The note under the error points to the place, or just after it.
> Look at the word before the caret: a missing comma, a reserved word as a name, syntax of another database.

-202
The statement contains a character that is not valid in SQL. It is often invisible and comes from copied text.
> Delete it. The note under the error writes such characters as Python does, for example \xa0.

-203 -204
A number in the statement is malformed or too large for its kind.
> Correct it, or send it as a parameter.

-280
A literal is longer than this server allows in the text of a statement.
> Send it as a parameter.

-282
A string or quoted identifier is not closed before the statement ends. Often a quote inside it was not doubled.
> Double the quotes inside it, or better, send the value as a parameter.

-283 -943
A comment is not closed before the statement ends.
> Close it with } or with */, matching how it was opened.

-460
The text of the statement is longer than this server allows.
> Send values as parameters, or split the statement. Long lists for IN belong in a temporary table.

-543
The ESCAPE character of LIKE or MATCHES must be exactly one character.
> Use one character.

-554 -513
The statement belongs to another server product or to another release.
> Compare it with the guide to SQL for the server's release.

-555
SELECT and database statements cannot be part of a multi-statement text.
> Send the statement by itself.

-944
This server does not allow FIRST, SKIP or LIMIT here. Old releases do not allow it in a subquery, for example.
> Move it to the outermost SELECT, or read the rows through a derived table.

-200 -253
A name is longer than this server allows: 128 bytes, 18 on very old releases.
> Shorten it.

-111
The storage layer found no such record: no table of that name with -206, no parent row with -691.
> Explain the SQLCODE.

-206
The table does not exist: wrong name, another database, another owner in an ANSI database, dropped or not yet created.
> Check the name, and the database that is open. In an ANSI database write owner.table.

-217
No table of the query has a column of this name. Text in double quotes is a name if DELIMIDENT is set.
> Check the name and the table's alias; put text into single quotes, or send it as a parameter.

-218 -394
This owner has no synonym or view of this name.
> Check the name, the owner, and the database that is open.

-223
The same table appears twice in FROM, without aliases to distinguish them.
> Give each an alias, and qualify every column with it.

-310 -390 -958
A table, view, synonym or sequence already has this name.
> Choose another name, drop the old one first, or write CREATE TABLE IF NOT EXISTS.

-316 -625 -673 -743 -8301 -9631
An object of this kind already has the name.
> Choose another name, drop the old one first, or write IF NOT EXISTS where the statement supports it.

-108 -350
An index on the same columns, in the same order, already exists; a constraint may have created it.
> Use that index. Its name is in the system catalog: sysindexes, sysconstraints.

-319 -518 -623 -894 -8300 -9628 -9992 -19804
No object of this kind has this name in this database and for this owner.
> Check the name, the owner, and the database that is open.

-324
More than one table of the query has a column of this name.
> Write the table's name or alias before it.

-328
The table already has a column of this name.
> Choose another name.

-352 -537 -549
A definition names a column that the table does not have.
> Check the name in the system catalog: syscolumns.

-354 -909
The name is not valid for a database or cursor.
> Write database, database@server or //server/database: letters, digits and underscores, a letter first.

-522
The select list names a table that is not in FROM, or names it although it has an alias.
> Add the table to FROM, or use its alias.

-674
No routine has this name and accepts these argument types, or the user lacks permission to see it.
> Check the name and the number of arguments, and cast parameters: ?::INTEGER.

-9700
Several routines of this name match these arguments equally well.
> Cast the arguments so that only one matches.

-205
The view joins or groups tables, so its rows have no ROWID.
> Select ROWID from the underlying table, or better, use the primary key.

-219
LIKE and MATCHES apply to text only.
> Cast the column, or compare with = and BETWEEN.

-249
A view or temporary table is created from an expression that has no name.
> Name the expression: SELECT a + b AS total.

-251
ORDER BY or GROUP BY has a number that is larger than the number of columns selected.
> Correct the number, or write the column's name.

-254
The number of placeholders differs from the number of values that were sent.
> Count the question marks, except those in strings and comments.

-284
A subquery returned several rows where a single value is required.
> Narrow its WHERE, replace = with IN, or select MAX() or FIRST 1.

-293
On this server, IS NULL and IS NOT NULL apply to a column, not to an expression.
> Test the columns of the expression one by one, or use NVL.

-294
A column in the select list is neither in an aggregate nor in GROUP BY.
> Add the column to GROUP BY, or wrap it in MAX() or MIN().

-300 -301
GROUP BY has more columns, or longer ones, than the server allows.
> Group by fewer, for example by a key in a derived table, and join the others.

-303
An expression uses a column both by itself and inside an aggregate.
> Compute the aggregate in a derived table, and combine it outside.

-304
HAVING can refer only to aggregates and to columns in GROUP BY.
> Move the condition to WHERE, or add the column to GROUP BY.

-305 -307
A subscript, column[first,last], selects part of a text; the column is not text, or the range is invalid.
> Use it on text only, with 1 as the first position, or write SUBSTR().

-306
The positions of a subscript are outside the column.
> Keep both between 1 and the length of the column.

-308
A column of the UNION has incompatible types in its parts.
> Cast one of them; NULL needs a cast, too.

-309
SELECT DISTINCT, and any SELECT on an old release, can order only by selected columns.
> Add the column to the select list.

-317
Each part of a UNION must select the same number of columns.
> Add NULL::type for the missing columns.

-321 -544 -595
An aggregate is used in GROUP BY, in another aggregate, in WHERE or elsewhere before grouping.
> Compute it in a derived table, or move the condition to HAVING.

-360
The statement changes a table that its own subquery reads, which this server does not allow.
> Read into a temporary table first.

-367 -561
SUM and AVG accept numbers and intervals only.
> Cast the column, or sum a number computed from it.

-374
The parts of a UNION name their columns differently, so ORDER BY accepts only positions.
> Write ORDER BY 1.

-393 -395 -396
The outer joins of the statement contradict each other, or lack a condition, in Informix's own OUTER syntax.
> Write LEFT OUTER JOIN .. ON .. instead.

-574
A subquery selects several columns where a single value is required.
> Select one column, or write EXISTS.

-575 -880 -946
The function accepts text only.
> Cast the argument: ::VARCHAR(255). A parameter may need the cast, too.

-664 -717
The built-in function was called with the wrong number of arguments, or with an invalid one.
> Compare the call with the guide to SQL for the server's release.

-726 -727 -728
The first argument of DBINFO is one of a fixed set of words; some of them require a second argument.
> Write for example DBINFO('sqlca.sqlerrd1') or DBINFO('version', 'full').

-800
The branches of CASE or DECODE have incompatible types.
> Cast them to one type; NULL needs a cast, too.

-879
The character that TRIM removes must be a single character, or NULL.
> Use one character, or use LTRIM and RTRIM.

-9634 -9635 -9632 -9633
There is no cast from the type of the value to the required type.
> Cast through a type that both convert to, text for example, or CREATE CAST.

-9643 -9644
DISTINCT, GROUP BY and = require a type that can be compared and hashed; this one cannot.
> Compare a part of the value, or cast it to text.

-9650
IN requires a list of values or a collection on its right side.
> Write a list in parentheses, a subquery, or a SET, LIST or MULTISET.

-9926
Values of such a type have no order, and the server does not compare them for equality in this place.
> Use a field of the row, or UNION ALL for UNION.

-9877
The NULL in a ROW, SET, LIST or MULTISET has no type.
> Write NULL::type.

-227 -228 -511 -584
Only the server itself can write to a table of the system catalog, or to its other internal tables.
> Use the statement that changes what the catalog describes: ALTER TABLE, GRANT, UPDATE STATISTICS.

-232
The value of a SERIAL column cannot be changed.
> Delete the row and insert it with another number, or declare the column INTEGER and use a sequence.

-234
The column is computed, so it cannot be assigned a value. Often the target is a view.
> Leave it out of the list of columns.

-236 -505
The numbers of columns and of values differ. Without a list of columns, INSERT needs a value for each.
> Write the list of columns, and count.

-277
UPDATE or DELETE .. WHERE CURRENT OF must name the table that the cursor reads.
> Name that table.

-364
The cursor was declared FOR UPDATE OF a list of columns that does not include this one.
> Add it to the list, or write FOR UPDATE without a list.

-384
The view joins, groups or computes, so the server cannot determine which rows to change.
> Change the underlying tables, or give the view an INSTEAD OF trigger.

-519
The new value is not allowed for the column.
> Compare it with the column's type and constraints.

-681
INSERT names a column twice.
> Name it once.

-207
SELECT .. INTO a table and FOR UPDATE are mutually exclusive.
> Leave one of them out.

-235 -361 -650
The column would be longer than its type allows: CHAR 32767, VARCHAR 255, LVARCHAR 32739 bytes.
> Use a shorter one, or LVARCHAR, TEXT or CLOB.

-651
The second number of VARCHAR is the minimum reserved space; it cannot exceed the first.
> Make it smaller, or leave it out.

-269 -287
Existing rows would have no value for the new column, which is NOT NULL or SERIAL.
> Add it without NOT NULL, fill it, then MODIFY it; or give it a DEFAULT.

-286 -592
The column is a primary key or NOT NULL, and its default is NULL.
> Use another default, or none.

-591 -593 -594
The default is not valid for the column's type.
> Use one of the column's type, or none; SERIAL, BYTE and TEXT allow none.

-295 -296
A foreign key can refer only to a table in the same database, on which its creator has the REFERENCES privilege.
> Create the tables in one database, and ask the owner to GRANT REFERENCES.

-297
A foreign key must refer to exactly the columns of a primary key or unique constraint; an index is not enough.
> Add the constraint to the parent: ALTER TABLE .. ADD CONSTRAINT UNIQUE (..).

-314 -705
Another session is using it.
> Try again later, or wait with SET LOCK MODE TO WAIT.

-322
The statement applies to tables, and this is a view.
> Drop the view and create it again.

-326 -550 -551 -517 -103
An index or constraint has more columns, or longer ones, than the server's page can hold.
> Use fewer or shorter columns, or put the table into a dbspace with larger pages.

-330
The database already exists, its name is invalid, its dbspace does not exist, or another session is using it.
> Look at the ISAM code; choose another name or dbspace.

-130
The dbspace that the statement or the configuration names does not exist.
> Check the name: SELECT name FROM sysmaster:sysdbspaces.

-337 -508 -509 -510 -532 -548 -576 -323
Temporary tables do not support this: they belong to one session, and are not in the system catalog.
> Do it in CREATE TEMP TABLE, do without, or use an ordinary table.

-356
A foreign key and the columns it refers to must have the same types; SERIAL matches INTEGER.
> Change one of them.

-357
The view was created on a table that has been altered since.
> Drop the view and create it again.

-359
The database that is open cannot be dropped or renamed.
> CLOSE DATABASE first, or do it from another one, sysmaster for example.

-362
A table can have at most one SERIAL column, and one SERIAL8 or BIGSERIAL column.
> Fill the other from a sequence.

-366
The scale s of DECIMAL(p,s) is larger than its precision p.
> Make p at least s.

-370
A table must have at least one column.
> Drop the table.

-382 -383
CREATE VIEW lists more or fewer names than its SELECT has columns, or none although one is an expression.
> Give one name for each column.

-500
Rows can be clustered by one index only.
> ALTER INDEX .. TO NOT CLUSTER for the old one first.

-531 -542
The list names the same column twice.
> Name it once.

-533
An extent must be at least four pages.
> Make it larger, or leave the clause out.

-536
A foreign key has a different number of columns than the key that it refers to.
> Name the same number of columns.

-546
A view is stored as text, so it cannot have placeholders.
> Write literals, or put the condition into the queries on the view.

-559
A synonym can refer to a table or view, not to another synonym.
> Name the table itself.

-577 -704
The table already has a primary key, or such a constraint on these columns.
> Use that one, or drop it first.

-676 -677
A check constraint can use only one row of one table: no other tables, no subqueries, no routines that read data.
> Use a trigger.

-634
The trigger, or another object that the statement names, is not in the database.
> Compare its name with the system catalog, systriggers for a trigger.

-729 -730
CREATE TRIGGER lacks its actions, or the FOR EACH ROW that REFERENCING needs.
> Write BEFORE, FOR EACH ROW or AFTER with statements in parentheses.

-732 -734
A correlation name of a trigger has the name of another object, or is used where there is no such row.
> Use OLD and NEW names in FOR EACH ROW only: no OLD for INSERT, no NEW for DELETE.

-741
The table already has a trigger for this event, and the server allows only one.
> Put both actions into one trigger.

-742
On this server, a trigger on DELETE and a foreign key with ON DELETE CASCADE are mutually exclusive.
> Keep one of them.

-785
ALTER TABLE would drop a column that the fragmentation expression uses.
> Change the fragmentation first: ALTER FRAGMENT .. INIT.

-886 -887
A view, a constraint or another user's privilege depends on it, and RESTRICT was specified.
> Drop those first, or write CASCADE.

-893
An object on which this one depends is disabled.
> Enable that one first: SET CONSTRAINTS, INDEXES or TRIGGERS .. ENABLED.

-895
The table has violations tables, is one, or is temporary. Or a name is taken or too long, or MAX ROWS is out of range.
> Name the two tables with USING; see sysviolations for those that are started.

-897 -898
While violations tables are started, neither their definition nor the columns of the table can change.
> STOP VIOLATIONS TABLE FOR the table first.

-948
The index belongs to a constraint.
> Rename the constraint instead.

-972
ALTER TABLE is valid but could not be carried out.
> Look at the ISAM code: a lock, no space, or a long transaction.

-973
The table has objects in FILTERING mode, and the INSERT reads its violations table.
> Copy the rows to a temporary table first, or stop the violations table.

-974
SERIAL is always NOT NULL.
> Change the column to INTEGER first.

-8302 -8304 -8305
The numbers of a sequence contradict each other or exceed BIGINT.
> MINVALUE, START and MAXVALUE must be in ascending order, and INCREMENT must not be 0.

-9604 -610 -9816
Values of this type cannot be indexed.
> Index another column: a key, a hash, or part of the text.

-9630
Columns, routines or casts use the type.
> Drop those first; sysxtdtypes, syscolumns and sysprocedures list them.

-9820 -9814
BLOB and CLOB are stored in an sbspace. The named one does not exist, or no default is configured.
> Ask the administrator to create one with onspaces and set SBSPACENAME, or name another in PUT .. IN.

-440 -589 -1801
The transaction would change data on several servers, and one of them cannot take part.
> Commit between them, or change data on one server only.

-527
The server's operating system does not support the lock mode.
> Leave the lock mode as it is.

-528 -132
A row of the result or of the table is longer than the server can handle.
> Select fewer columns, or declare long text as TEXT or CLOB; VARCHAR and LVARCHAR count with their maximum.

-568 -569 -570 -571
The statement accesses a database whose log mode differs from the open database's.
> Open a database with the same log mode, or ask for the mode to be changed with ontape or ondblog.

-999
The server recognizes the syntax but cannot execute it. The aioifx embedded server does not support this part of
Informix.
> Write it differently. For the embedded server, see its reference.

-272 -273 -274 -275 -506 -541 -545 -977
The user lacks this privilege on the table, or on one of the columns.
> Ask its owner or a DBA to GRANT it to the user, to PUBLIC, or to a role, and SET ROLE.

-298 -299
The grant is not allowed: the grant option for PUBLIC, or a privilege for oneself.
> Name a user.

-302 -580 -514 -764 -19803
Only the owner, a user with the grant option, or a DBA may do this.
> Ask one of them to do it.

-313 -320 -579 -9629
Only the owner or a DBA may do this.
> Ask one of them to do it.

-315
The user lacks the INDEX privilege on the table.
> Ask its owner or a DBA to run GRANT INDEX ON .. TO ..

-388
Creating permanent tables and indexes requires the RESOURCE privilege on the database.
> Ask a DBA to run GRANT RESOURCE TO .., or use a temporary table.

-389
This requires the DBA privilege on the database.
> Ask a DBA to do it, or to run GRANT DBA TO ..

-512
The user lacks the REFERENCES privilege on the columns to which the foreign key refers.
> Ask the table's owner or a DBA to run GRANT REFERENCES ON .. TO ..

-706
The user lacks the EXECUTE privilege on the routine; in an ANSI database it must be granted first.
> Ask its owner or a DBA to run GRANT EXECUTE ON .. TO ..

-9997
The user lacks the USAGE privilege on the type.
> Ask its owner or a DBA to run GRANT USAGE ON TYPE .. TO ..

-19805
SET ROLE names a role that the user does not have.
> Ask a DBA to run GRANT role TO user.

-387
The server knows the user, but the user lacks the CONNECT privilege on the database.
> Ask a DBA to run GRANT CONNECT TO ..

-950 -951 -952
The server's operating system, or its own list of users, rejected the user or the password. Recent releases do not say
which of the two is wrong.
> Check both, including leading and trailing blanks. An expired or locked account gives the same error.

-956
No password was given, and the server does not trust the client's host.
> Give user and password. Trust is configured on the server's host: REMOTE_SERVER_CFG, hosts.equiv.

-960
The server's setting SECURITY_LOCALCONNECTION does not admit this local user.
> Log in as the user that runs the program, or from another host.

-25590
The network layer of the server could not authenticate the client.
> See the server's message log, and the service that the listener's line in sqlhosts specifies.

-761 -25596
The option server (INFORMIXSERVER) must be the DBSERVERNAME or one of the DBSERVERALIASES of the server at this
address.
> Use the right name; the login reply contains it, and aioifx shows it. So does onstat -g cfg DBSERVERNAME.

-905 -931
The service name of the server has no port in the list of services of the machine that looks it up.
> Use the port number, or add the name to /etc/services there.

-906 -908 -930 -932 -907 -25588 -25599
The connection could not be opened: wrong host or port, server down, a firewall in between. Or the server itself could
not reach another server that the statement names.
> Try the port with another program; see onstat - on the server's host, and its message log.

-954
The server's host does not recognize the client's host.
> Ask for the client's address to be added to DNS or to the server's list of hosts.

-1809 -27002 -27010
The server is running but does not currently accept sessions of ordinary users.
> Wait; an administrator ends quiescent or administration mode with onmode -m.

-25571
The server cannot create a user thread: it has as many sessions as LIMITNUMSESSIONS allows, or lacks memory.
> Close unused connections, or make pools smaller; onstat -g ses shows which users hold them.

-27001
The connection ended during the login. Typical causes: the server is starting, it is full, or a proxy closed it.
> Try again; check the limits on sessions, and whether the port speaks SQLI, not DRDA or TLS.

-27009
The group's servers are all down or secondary.
> Find the primary with onstat -g dri; name a server of the group, or correct sqlhosts.

-329
The database does not exist on this server, or the user lacks permission to see it.
> Check the name: SELECT name FROM sysmaster:sysdatabases.

-349
The session has no open database: none was named at login, or it was closed.
> Name one in the options, or run DATABASE name first.

-358 -917
The statement opens or creates a database while another is open.
> CLOSE DATABASE first.

-377
DATABASE and CLOSE DATABASE are not allowed while a transaction is open.
> COMMIT or ROLLBACK first.

-407 -408 -929
Client and server do not understand each other: a proxy, another protocol on this port, or a defect.
> Check that the port is for SQLI (onsoctcp), not DRDA; then report it with a trace.

-410 -258 -260 -285
A message named a statement or cursor that the server does not have, or used it incorrectly. This is a defect of the
client.
> Report it, with the statements that were run before it.

-425 -702
Another session has opened the database exclusively, or is using it while exclusive access is requested.
> Try again later; onstat -g ses lists the sessions.

-439
A request arrived while the server was still executing another for the same session. This is a defect of the client.
> Report it, with the statements that were run before it.

-457 -459
The server crashed or was shut down, which ended the session. Uncommitted changes are rolled back.
> Open a new connection when the server is up. After a COMMIT, query the data to find out whether it succeeded.

-759
The session was opened with a database in its login, and cannot change it.
> Open a new connection for the other database.

-911 -914
A pipe on the server's host broke.
> Open a new connection; see the server's message log.

-912 -913 -955 -11020 -25580 -25582 -25583 -25586 -25587
The network connection broke: a restart, an idle timeout of a firewall, a cable. Uncommitted changes are rolled back.
> Open a new connection; use keepalive. After a COMMIT, query the data to find out whether it succeeded.

-934 -936
The server lost its connection to another server that the statement uses.
> Roll back and try again when the other server is up.

-1800 -715
The state of the transaction does not allow the statement.
> ROLLBACK, and begin again.

-1802 -1803 -1805 -1806 -1807
These concern named connections of embedded SQL; a routine or gateway on the server passed the error on.
> Check what the statement calls.

-23101 -23109
The server has no files for the locale that the client requested.
> Correct client_locale and db_locale, en_US.utf8 for example; glfiles on the server's host lists those available.

-23103
A character does not exist in the other code set: the text was stored under a wrong locale, or the database cannot
represent it.
> Correct the locales, or the data. A database with an 8-bit code set cannot store most of Unicode.

-23104 -23105 -23115
The server has no table to convert between the client's code set and the database's.
> Set client_locale to the database's locale, or to another with utf8.

-23195 -23196 -23197
The database was created with a locale other than db_locale.
> Find it with SELECT dbs_collate FROM sysmaster:sysdbslocale, and give it as db_locale.

-213 -157
The statement was interrupted: by a timeout, a cancelled task or an administrator.
> Run it again if this was unintended. An open transaction is still open.

-220 -248
The savepoint operation failed; it needs a transaction, and a server that supports savepoints.
> Look at the ISAM code; set savepoints inside a transaction only.

-237
BEGIN WORK failed: the log cannot be written, or a transaction is open.
> Look at the ISAM code, and at the server's message log.

-238
COMMIT failed, and its outcome is unknown.
> Query the data to find out whether the COMMIT succeeded before you run it again. The ISAM code has the reason.

-942
COMMIT found a violated deferred constraint, or could not write; the whole transaction is rolled back.
> Correct the data, and run the transaction again.

-241
ROLLBACK failed, which leaves the transaction in an unknown state.
> Close the connection; see the server's message log.

-233 -378 -107
Another transaction has changed or read the row and holds a lock on it, and this session does not wait.
> Run the transaction again, or let the session wait for locks: SET LOCK MODE TO WAIT 10.

-289 -113 -347
Another session has locked the table, or is using the table that this session wants to lock.
> Run the transaction again, or let the session wait for locks: SET LOCK MODE TO WAIT 10.

-144
An open transaction has inserted, changed or deleted the same key, or an adjacent one.
> Run the transaction again, or let the session wait for locks: SET LOCK MODE TO WAIT 10.

-154
The lock was not free within the time of SET LOCK MODE TO WAIT, or of DEADLOCK_TIMEOUT among several servers.
> Run the transaction again, or wait longer. onstat -k and onstat -u show who holds it; short transactions help.

-143
Two transactions wait for locks that the other holds; the server made this one fail.
> Roll back and run the whole transaction again. To avoid deadlocks, always take locks in the same order.

-106
The definition of a table cannot be changed while other sessions have it open, including dirty readers.
> Try again when they are done, set IFX_DIRTY_WAIT, or SET ENVIRONMENT FORCE_DDL_EXEC.

-240 -243 -244 -245 -246 -250 -263 -348
The server located the row but could not access it. Usually another session has locked it.
> Look at the ISAM code; explain both numbers together.

-242 -215
The table is in the catalog, but its storage cannot be opened: a lock, too many open files, or damage.
> Look at the ISAM code; explain both numbers together.

-255
COMMIT, ROLLBACK or a cursor for update was used outside a transaction, which may have ended already.
> BEGIN WORK first: async with conn.transaction().

-256 -582 -122 -128
The database was created without a log, so there are no transactions.
> Do without; or ask for logging to be turned on: ondblog or ontape -s -U on the server's host.

-265 -398
In a database with a log, this cursor needs a transaction.
> BEGIN WORK first: async with conn.transaction().

-278
The savepoint does not exist or was released, or a statement after it cannot be undone.
> Roll back the whole transaction.

-288
UNLOCK TABLE names a table that this session has not locked.
> Leave it out; the end of a transaction unlocks tables anyway.

-291
ALTER TABLE .. LOCK MODE requires exclusive access to the table.
> Look at the ISAM code; try again when no other session uses the table.

-327
In a database with a log, the end of the transaction unlocks tables.
> COMMIT or ROLLBACK instead.

-458 -12204
The transaction filled a large part of the logical log (LTXHWM), and the server rolled it back.
> Use smaller transactions: commit every few thousand rows. Running it again unchanged gives the same error.

-503 -134
The server's lock table is full, or this session holds more locks than allowed.
> Lock whole tables for large changes, commit more often, use a page lock mode, or raise LOCKS.

-504
Only tables can be locked.
> Lock the tables on which the view is defined.

-521
The statement changes the system catalog, and another session has an uncommitted change to it.
> Try again when that session has committed.

-524
In a database with a log, LOCK TABLE needs a transaction and lasts until the transaction ends.
> BEGIN WORK first.

-535
BEGIN WORK was run inside a transaction. In an ANSI database a transaction is always open.
> Use a savepoint, or leave BEGIN WORK out.

-572
SET LOCK MODE TO WAIT accepts a limited number of seconds.
> Give fewer seconds, or none to wait indefinitely.

-573
An ANSI database always has an unbuffered log.
> Leave SET LOG out.

-698 -699 -716
A transaction over several servers did not end in the same way on all of them.
> Compare the data of the servers that the message names; see the chapter in the administrator's guide.

-700 -701
A transaction manager controls the transaction. BEGIN, COMMIT, ROLLBACK and DATABASE are reserved for it.
> End the transaction through the manager.

-710
The table was altered, dropped or renamed after the statement was prepared.
> Run it again: aioifx prepares it again.

-768 -874 -392 -9600 -172 -102 -101
The server is in an unexpected state: a defect of the server, or damage.
> See its message log and assertion-failure files, and report it to its vendor.

-959
The server had an internal error and rolled the transaction back.
> See its message log; running it again may or may not work.

-875 -876 -877
SET TRANSACTION is allowed once, before the first statement of a transaction. Dirty reads require READ ONLY.
> Set it first, once; SET ISOLATION may be set at any time.

-878
The transaction was begun as read-only.
> Begin a read-write transaction.

-208 -406 -1211 -116
The server is out of memory, or the session has reached its limit.
> Close what is open: statements, cursors, idle sessions. An administrator can raise SHMTOTAL or SHMVIRTSIZE.

-257
The session has more prepared statements and cursors than the server allows.
> Close those that are no longer needed.

-259 -400 -413 -422 -262
The cursor was never opened or is closed. COMMIT and ROLLBACK close all cursors that are not WITH HOLD.
> Read to the end before the transaction ends, or open it with hold.

-267 -404
The cursor is closed, by the end of a transaction for example, or was released.
> Read to the end before the transaction ends, or open it with hold.

-266 -112
WHERE CURRENT OF needs a row that was just fetched. The last fetch found none, or the row was deleted.
> Fetch first; at the end there is no current row.

-276 -507 -598
No open cursor has this name in the session.
> Check the name, and that the cursor is still open.

-290
WHERE CURRENT OF needs a cursor that was declared FOR UPDATE.
> Add FOR UPDATE to its SELECT, or use the primary key.

-363
A cursor requires a statement that returns rows, and this one does not.
> Execute it.

-365 -526
A cursor for update must read one table, without UNION, GROUP BY or ORDER BY, and cannot be a scroll cursor.
> Simplify the SELECT, or update by the primary key.

-481
The statement's name is unknown in the session: never prepared, or freed.
> Prepare it again.

-482
The cursor can only fetch the next row.
> Open it as a scroll cursor.

-538 -586
A cursor of this name is already declared or open.
> Close it first, or use another name.

-611 -9605
A scroll cursor keeps rows in a temporary table, which cannot hold such values.
> Read them with an ordinary cursor, or by key.

-765
The statement was declared as a cursor, so it must be opened, not executed.
> Open it, or prepare it again.

-890 -938
An insert cursor accepts only INSERT INTO .. VALUES with placeholders and literals.
> Execute other statements one by one.

-385
The view was created WITH CHECK OPTION, and the new or changed row does not meet its condition.
> Correct the values, or change the table instead of the view. sysviews has the view's text.

-1214 -1215 -1284 -1222 -1223 -1200
The value is outside the range of its type.
> Use a larger type, or correct the value. The smallest value of each integer type means NULL and cannot be used.

-1201 -1226
The number has more digits, or a larger exponent, than DECIMAL(p,s) holds.
> Round it first, or declare the column with more digits.

-415 -1260 -1208
The value has a type that does not convert to the required one.
> Send another type, or cast: ?::INTEGER.

-600 -602 -603 -604 -605 -618
A BYTE or TEXT value is stored in separate pages, and the server could not access them.
> Look at the ISAM code; explain both numbers together.

-608 -609 -619 -617
BYTE and TEXT require parameters of the same type: not literals, and not the other of the two.
> Send bytes for BYTE and str for TEXT.

-606 -162
The blobspace that a column names does not exist.
> Check the name, or write IN TABLE.

-607 -612 -613 -614 -615 -616
BYTE and TEXT can be stored and read, but not compared, sorted or grouped.
> Keep the values to compare in another column, or use LVARCHAR.

-881
The result of a concatenation or padding is longer than its type allows.
> Shorten the parts first, or cast them to LVARCHAR.

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
The value is longer than the column or variable. Databases that are not ANSI often truncate text silently instead.
> Make the column longer, or shorten the value.

-1213 -1216 -1224
The text contains something that is not part of a number: a letter, a blank inside it, a comma as decimal point.
> Correct it, or send a number as a parameter.

-1217 -1275 -1276 -1277 -1278
TO_CHAR, TO_DATE or a format variable has a pattern that is invalid, or that does not match the text.
> Compare the pattern with the text, letter by letter.

-1233 -1263
A field of a time or date is out of range: hour 24, minute 60, the 31st of a short month.
> Correct it, or send datetime values as parameters.

-1234
The function accepts only DATETIME.
> Cast the argument: ::DATETIME YEAR TO SECOND.

-1261 -1262 -1264 -1270 -1271
The text does not match the qualifier of the DATETIME or INTERVAL: 2025-01-31 12:00:00 for YEAR TO SECOND.
> Correct it, or send datetime and timedelta values as parameters.

-1265 -1267
The result has more digits than the first field holds, is outside years 1 to 9999, or is not an existing day.
> Declare more digits: INTERVAL DAY(9) TO SECOND. Use ADD_MONTHS to add a month to the 31st.

-1266
DATETIME and INTERVAL must have fields in common; years and months do not mix with days and smaller ones.
> EXTEND the DATETIME to the required fields, or use another INTERVAL.

-1268
The qualifier's fields are in the wrong order, or a field has too many digits.
> Write the larger field first, and at most 9 digits for the first, 5 for FRACTION.

-8313 -8314
The sequence has reached its last value and was created with NOCYCLE.
> ALTER SEQUENCE with a larger MAXVALUE, or with CYCLE.

-8315
CURRVAL repeats the last NEXTVAL of this session, and NEXTVAL was not called yet.
> Call NEXTVAL first.

-9636
The value has more bytes than its opaque type allows.
> Make it shorter, or the type longer.

-9652
The text is not a JSON object, or the bytes are not a BSON document.
> Send a dict as the parameter, or check the text with json.loads.

-9648
BOOLEAN accepts only 't' and 'f'.
> Send True or False as a parameter.

-9810 -9811 -9822 -12037 -12048 -12051 -12052 -12097
The large object operation failed: the object was deleted, or its handle is not open or has the wrong open mode.
> Look at the ISAM code. Handles are valid until the transaction that opened them ends.

-12092
The sbspace that stores the large object is offline.
> Ask an administrator to bring it online: onstat -d, onspaces -s.

-647
The argument is outside the function's domain: for example the root or logarithm of a negative number.
> Exclude such values in WHERE, or with CASE.

-655 -656 -661 -684 -685
A routine returns a different number of values than it declares, or than its caller has variables for.
> Compare RETURNING, RETURN and INTO.

-686
A function returns several rows where a single value is required.
> Call it with EXECUTE FUNCTION, or in FROM TABLE(FUNCTION ..).

-657 -675 -744
A routine or trigger contains a statement that is not allowed there.
> Send it from the program.

-659
A SELECT in a routine must store its row.
> Write SELECT .. INTO variables, FOREACH, or INTO TEMP.

-667 -669 -671
A name in a routine is not declared, or is declared twice.
> Declare each variable once, in the block where it is used.

-668
SYSTEM ran a command that does not exist or that failed.
> Try it on the server's host, as the user of the session. The embedded server needs its option `system`.

-694 -695
A routine was called with arguments that it does not declare.
> Compare the call with CREATE PROCEDURE; argument names must match the names of its parameters.

-696
A routine uses a variable before it has a value.
> Assign one: LET, DEFAULT, or a SELECT .. INTO that finds a row.

-697
A FOR loop of a routine would never end.
> Use a STEP other than 0.

-683
A FOR loop of a routine counts away from its end, as 5 TO 1 STEP 1 does.
> Test the bounds before the loop, or omit STEP.

-660 -666
The variable of a FOR loop is not a whole number, or the loop changes it.
> Use an INTEGER, and EXIT or CONTINUE.

-26005
DECRYPT_CHAR, DECRYPT_BINARY and GETHINT read only what ENCRYPT_AES or ENCRYPT_TDES has written, and all of it.
> See whether the column is long enough: a value that was cut cannot be decrypted.

-26007
A password of ENCRYPT_AES and its relatives has 6 to 128 bytes, and a hint at most 32.
> Give it to the function, or to the session by SET ENCRYPTION PASSWORD.

-26008
The password is not the one with which the value was encrypted.
> GETHINT tells the hint that was stored with the value.

-26027 -26028 -26029
A label of a routine is unknown, occurs twice, or is in an exception handler, where GOTO is not allowed either.
> Give each label of the routine another name, and jump to one of the same block or of a block around it.

-9752
A routine with OUT or INOUT parameters was called with an expression, or inside one.
> In a routine, use CALL, or LET of the call alone, with variables for these parameters. In Python, use conn.call.

-26051 -26056 -26058
Dynamic SQL of a routine takes one statement, which is not NULL. Only a cursor of a query can be WITH HOLD.
> Print the text before PREPARE or EXECUTE IMMEDIATE; split it into several statements.

-26052 -26053 -26054 -26055 -26057
A routine uses cursors and prepared statements out of order, or a name twice.
> Keep to PREPARE, DECLARE, OPEN, FETCH, CLOSE, FREE. The end of a transaction closes cursors that are not WITH HOLD.

-26062
A CASE statement of a routine met a value that it has no branch for.
> Add a WHEN, or ELSE.

-670
Variables and parameters of a routine cannot have a SERIAL type.
> Declare an INTEGER or BIGINT.

-658 -689
Routines that share a global variable must declare it with the same type and a default.
> Write DEFINE GLOBAL .. DEFAULT .. alike in all of them.

-721 -9793 -9794
The routine's code is out of date or its library cannot be loaded.
> Create it again; for external routines check the path of the library, and its permissions.

-745 -9791
A trigger action, or the code of an external routine, failed.
> Look at the ISAM code, and run its statements by hand.

-746 -937
The routine raised this error on purpose, with its own message.
> Read the message; the routine's source shows when it is raised.

-747
A trigger changes the rows of a table, or the columns, whose change fired it.
> Use a FOR EACH ROW action on OLD and NEW, or a second table.

-748
Triggers fired each other more than 61 levels deep, most likely in a cycle.
> Break the cycle.

-209
The database was created by another release or product.
> Ask for it to be converted, or open it with the server that created it.

-211 -252 -311 -312
The system catalog cannot be read or written. Usually another session has an uncommitted change to it.
> Look at the ISAM code: for a lock, try again; otherwise see the server's message log.

-212 -216 -261 -214 -281 -502 -626 -682 -690
The statement is valid, but the storage operation failed: a lock, no space, or damage.
> Look at the ISAM code; explain both numbers together.

-229 -230 -264 -270 -564 -565 -566 -567
The server could not use the temporary files that it needs for sorting and joining.
> Check DBSPACETEMP and the space that is left there: onstat -d.

-397 -520 -105 -119 -155
Storage of the server is damaged.
> Stop writing; ask an administrator to run oncheck and to read the message log.

-722 -762
The statement, or the routines that call each other, are nested deeper than the server's stack allows.
> Reduce the nesting: replace thousands of ORs by IN or a temporary table. An administrator can raise STACKSIZE.

-927
A statement can refer only to a limited number of other servers.
> Split the statement.

-26040
The server could not initialize encryption.
> See its message log.

-104
The server, or the session, has more files and tables open than allowed.
> Close what is open: cursors, statements, sessions.

-109 -110 -114 -126 -127
The SQLCODE before this one explains this reason from the storage layer.
> Explain the SQLCODE.

-115 -118 -120 -121 -123 -149
A file or memory segment that the server itself needs is missing.
> Ask an administrator to look into it; see the server's message log.

-124
The storage layer was asked to end a transaction that has not begun.
> BEGIN WORK first.

-129 -190
The server has reached its maximum number of users or transactions.
> Close idle sessions; a smaller pool helps.

-131 -199 -166 -179 -12031
The dbspace, blobspace or sbspace is full.
> Ask an administrator to add a chunk: onstat -d shows the free space.

-135 -171
The table was dropped or rebuilt while the statement was being executed.
> Run it again.

-136
The table's page has no room for another extent, though the dbspace may have.
> Rebuild the table with larger extents, or defragment it.

-140 -7352
The session is on a secondary server, which is read-only or accepts only some writes.
> Connect to the primary.

-158 -196
The operation is not allowed here: sysmaster's tables are read-only, and temporary dbspaces keep no data.
> Use an ordinary table in an ordinary dbspace.

-168
An archive is in progress, during which no blobspace pages are allocated.
> Try again when it is done.

-178 -186
An administrator's change to the database or the table is in progress.
> Try again when it is done.

-187
An external routine that the statement calls failed.
> See its own message, and the server's message log.

-197
A table that was loaded without logging is read-only until it has been archived.
> Ask an administrator for a level-0 archive.

-198
Too many in-place alterations are pending on pages that have not been rewritten since.
> Rewrite the rows: UPDATE a column to itself, then alter again.

-7350
Another session changed the row on the primary server after this one read it on a secondary.
> Read the row again before you change it.

-7351
The secondary server cannot forward a write.
> Connect to the primary.
"""
