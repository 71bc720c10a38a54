"""Databases, transactions, locks, rights, statistics, routines."""

from __future__ import annotations

import pytest

from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("update statistics", "UpdateStatistics(for_tables)"),
        ("update statistics for table", "UpdateStatistics(for_tables)"),
        ("update statistics high for table o.t (a, b) distributions only", "UpdateStatistics(o.t, for_tables)"),
        ("update statistics medium for table t resolution 1 0.9", "UpdateStatistics(t, for_tables)"),
        ('update statistics medium for table "o".t (a) resolution 2.0 0.95', "UpdateStatistics(o.t, for_tables)"),
        ("update statistics for procedure 'o'.p", "UpdateStatistics()"),
        ("update statistics for procedure p", "UpdateStatistics()"),
        ("update statistics low for table t drop distributions force", "UpdateStatistics(t, for_tables)"),
        ("database d", "OpenDatabase(DatabaseName(d))"),
        ("database d@srv exclusive", "OpenDatabase(DatabaseName(d, srv), is_exclusive)"),
        ("database 'd'", "OpenDatabase(DatabaseName(d))"),
        ("database 'd@srv'", "OpenDatabase(DatabaseName(d, srv))"),
        ("close database", "CloseDatabase()"),
        ("begin", "BeginWork()"),
        ("begin work", "BeginWork()"),
        ("commit", "CommitWork()"),
        ("commit work", "CommitWork()"),
        ("rollback", "RollbackWork()"),
        ("rollback work", "RollbackWork()"),
        ("rollback to savepoint", "RollbackToSavepoint()"),
        ("rollback work to savepoint s", "RollbackToSavepoint(s)"),
        ("savepoint s", "Savepoint(s)"),
        ("savepoint s unique", "Savepoint(s, is_unique)"),
        ("release savepoint s", "ReleaseSavepoint(s)"),
        ("lock table t in share mode", "LockTable(t)"),
        ("lock table o.t in exclusive mode", "LockTable(o.t, is_exclusive)"),
        ("unlock table t", "UnlockTable(t)"),
        ("grant select on t to public", "Grant([Privilege(select)], t, [public])"),
        ("grant select (a, b), update (c), insert on o.t to u1, 'u2', r with grant option as boss",
         "Grant([Privilege(select, [a, b]), Privilege(update, [c]), Privilege(insert)], o.t, [u1, u2, "
         "r], with_grant_option)"),
        ("grant all privileges on t to public", "Grant([Privilege(all)], t, [public])"),
        ("grant dba to u", "Grant([Privilege(dba)], [u])"),
        ("grant connect to u, v", "Grant([Privilege(connect)], [u, v])"),
        ("grant r1, r2 to u", "Grant([Privilege(r1), Privilege(r2)], [u])"),
        ("grant default role r to u", "Grant([Privilege(default role r)], [u])"),
        ("grant execute on p to public", "Grant([Privilege(execute)], p, [public])"),
        ("revoke usage on language SPL from public", "Revoke([Privilege(usage)], spl, [public])"),
        ("grant usage on language c to u", "Grant([Privilege(usage)], c, [u])"),
        ("grant execute on function 'i'.f (char(3), decimal) to 'public' as 'i'",
         "Grant([Privilege(execute)], i.f, [public])"),
        ("grant execute on procedure p (datetime,interval) to u", "Grant([Privilege(execute)], p, [u])"),
        ("grant execute on function to u", "Grant([Privilege(execute)], function, [u])"),
        ("revoke execute on p () from u", "Revoke([Privilege(execute)], p, [u])"),
        ("grant 'R' to u", "Grant([Privilege(R)], [u])"),
        ("grant default role 'R' to 'u'", "Grant([Privilege(default role R)], [u])"),
        ("grant select on type to u", "Grant([Privilege(select)], type, [u])"),
        ("update statistics for table t sampling size 0.5 resolution 2", "UpdateStatistics(t, for_tables)"),
        ("revoke all on t from public", "Revoke([Privilege(all)], t, [public])"),
        ("revoke select on t from u cascade", "Revoke([Privilege(select)], t, [u])"),
        ("revoke resource from u", "Revoke([Privilege(resource)], [u])"),
        ("execute procedure p()", "Execute(procedure, p)"),
        ("execute procedure o.p(1, 'a', ?)", "Execute(procedure, o.p, [1, 'a', ?0])"),
        ("execute function f(x = 1, b + 1)", "Execute(function, f, [NamedArgument(x, 1), Binary(+, b, 1)])"),
        ("execute function db:f()", "Execute(function, db:f)"),
    ],
)  # fmt: skip
def test_session_statements(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("database^", (-201, "")),
        ("database d ^e", (-201, "")),
        ("close ^c", (-201, "")),
        ("begin work ^without replication", (-999, "WITHOUT REPLICATION")),
        ("begin ^transaction", (-201, "")),
        ("rollback to ^s", (-201, "")),
        ("savepoint^", (-201, "")),
        ("lock table t in ^row mode", (-201, "")),
        ("grant ^foo on t to u", (-201, "")),
        ("grant select ^to u", (-201, "")),
        ("grant select (a) ^to u", (-201, "")),
        ("grant ^fragment all on t to u", (-999, "FRAGMENT")),
        ("grant execute on p (int ^+) to u", (-201, "")),
        ("update statistics for table t resolution ^x", (-201, "")),
        ("database ^'//d'", (-201, "")),
        ("database ^'a/b'", (-201, "")),
        ("grant select on t^", (-201, "")),
        ("grant usage on language ^cobol to u", (-201, "")),
        ("revoke select on t ^to u", (-201, "")),
        ("execute ^immediate 'x'", (-201, "")),
        ("execute procedure p^", (-201, "")),
        ("^call p()", (-201, "")),
    ],
)
def test_what_is_not_a_session_statement_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error
