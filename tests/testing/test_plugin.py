"""The plugin as projects see it, with other plugins beside it or alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.testing.runs import ANYIO, ASYNCIO, SCHEMA, SCOPE, XDIST, databases_of, remote_server, run_pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]

EXHAUSTIVE = pytest.mark.exhaustive

ASYNC_TESTS = """
import pytest
import aioifx

async def fill(conn):
    assert await conn.fetchval("SELECT COUNT(*) FROM item") == 1
    await conn.execute("INSERT INTO item VALUES (0, 'cup')")

{mark}
@pytest.mark.parametrize("again", [1, 2])
async def test_connection(ifx_connection, again):
    await fill(ifx_connection)

{mark}
async def test_pool_and_connection_have_the_database_of_the_address(ifx_pool, ifx_connection, ifx_dsn):
    await fill(ifx_pool)
    async with aioifx.connect(ifx_dsn) as other:
        for one in (ifx_connection, other):
            assert await one.fetchval("SELECT COUNT(*) FROM item") == 2

{mark}
@pytest.mark.parametrize("again", [1, 2])
async def test_rollback(ifx_rollback, ifx_connection, again):
    assert ifx_rollback is ifx_connection
    await fill(ifx_connection)
    async with ifx_connection.transaction():
        await ifx_connection.execute("DELETE FROM item")

{mark}
async def test_a_lost_connection_is_rolled_back_too(ifx_rollback):
    await ifx_rollback.execute("DELETE FROM item")
    ifx_rollback.terminate()

{mark}
async def test_nothing_is_left_of_it(ifx_rollback):
    assert await ifx_rollback.fetchval("SELECT COUNT(*) FROM item") == 1
"""

ON_ASYNCIO = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


@pytest.mark.parametrize(
    ("mark", "plugins", "ini"),
    [
        pytest.param("", [ASYNCIO], "asyncio_mode = auto", id="auto"),
        pytest.param("@pytest.mark.asyncio", [ASYNCIO], "asyncio_mode = strict", id="strict"),
        pytest.param("@pytest.mark.anyio", [ANYIO], "", id="anyio"),
        pytest.param("", [ANYIO], "anyio_mode = auto", id="anyio-auto", marks=EXHAUSTIVE),
        pytest.param("", [ASYNCIO, ANYIO], "asyncio_mode = auto", id="auto-beside-anyio", marks=EXHAUSTIVE),
        pytest.param(
            "@pytest.mark.asyncio", [ANYIO, ASYNCIO], "", id="strict-beside-anyio", marks=EXHAUSTIVE
        ),
        pytest.param("@pytest.mark.anyio", [ASYNCIO, ANYIO], "", id="anyio-beside-strict", marks=EXHAUSTIVE),
        pytest.param(
            "@pytest.mark.anyio", [ANYIO, ASYNCIO], "asyncio_mode = auto", id="both-marks", marks=EXHAUSTIVE
        ),
        pytest.param('@pytest.mark.asyncio(loop_scope="session")', [ASYNCIO], "", id="loop-of-session"),
        pytest.param(
            "",
            [ASYNCIO],
            "asyncio_mode=auto\nasyncio_default_test_loop_scope=module",
            id="ini",
            marks=EXHAUSTIVE,
        ),
    ],
)
def test_async_fixtures_use_the_loop_of_the_test(
    pytester: pytest.Pytester, mark: str, plugins: list[str], ini: str
) -> None:
    pytester.makeconftest(ON_ASYNCIO if ANYIO in plugins else "")
    pytester.makepyfile(ASYNC_TESTS.replace("{mark}", mark))
    (pytester.path / "schema.sql").write_text(SCHEMA)
    result = run_pytest(pytester, plugins=plugins, ini=f"informix_seeds = schema.sql\n{ini}")
    result.assert_outcomes(passed=7)


def test_blocking_tests_need_no_plugin_for_asyncio(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import aioifx.dbapi
        import aioifx.testing
        import pytest

        @pytest.mark.parametrize("again", [1, 2])
        @pytest.mark.informix_seed("CREATE TABLE t (a INT);", "INSERT INTO t VALUES (1)")
        def test_address(ifx_dsn, ifx_database, ifx_server, again):
            assert isinstance(ifx_server, aioifx.testing.Server) and ifx_server.is_embedded
            assert ifx_database == aioifx.testing.Database(f"test_{again}", ifx_dsn)
            with aioifx.dbapi.connect(ifx_dsn) as conn:
                cursor = conn.cursor()
                cursor.execute("SELECT a FROM t")
                assert cursor.fetchall() == [(1,)]
                cursor.execute("DELETE FROM t")
                conn.commit()

        def test_refused(ifx_connection):
            pass

        def test_databases_are_dropped(ifx_server):
            assert ifx_server.dsn.partition("?")[0].endswith("/test")
            with aioifx.dbapi.connect(ifx_server.dsn) as conn:
                cursor = conn.cursor()
                cursor.execute("SELECT TRIM(name) FROM sysmaster:sysdatabases WHERE name MATCHES 'test*' ORDER BY 1")
                assert cursor.fetchall() == [("test",), ("test_template_0",), ("test_template_1",)]
    """)
    result = run_pytest(pytester, plugins=[])
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines("ifx_connection: expected an async test, got a blocking one; *ifx_dsn*")


def test_an_async_test_without_a_plugin_or_on_trio_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "trio", {}

        async def test_plain(ifx_pool):
            pass

        @pytest.mark.anyio
        async def test_trio(ifx_connection):
            pass
    """)
    result = run_pytest(pytester)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines("ifx_pool: expected a test that pytest-asyncio or anyio runs; *")
    result.stdout.fnmatch_lines("ifx_connection: expected asyncio as anyio_backend, got *trio*")


def test_a_test_that_ends_the_transaction_of_ifx_rollback_changes_nothing_for_others(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile("""
        import pytest

        async def test_commit(ifx_rollback):
            await ifx_rollback.execute("CREATE TABLE t (a INT)")
            await ifx_rollback.execute("COMMIT WORK")

        @pytest.mark.informix_seed("CREATE TABLE t (a INT)")
        async def test_seed_is_rolled_back(ifx_rollback):
            await ifx_rollback.execute("INSERT INTO t VALUES (1)")

        @pytest.mark.informix_seed("CREATE TABLE t (a INT)")
        async def test_failure_is_rolled_back(ifx_rollback):
            await ifx_rollback.execute("INSERT INTO nothing VALUES (1)")

        async def test_nothing_is_left(ifx_rollback):
            await ifx_rollback.execute("CREATE TABLE t (a INT)")

        async def test_pool(ifx_rollback, ifx_pool):
            pass

        async def test_changes(ifx_rollback, ifx_changes):
            pass

        @pytest.mark.informix_seed("CREATE TABLE t (a INT);\\nCREATE NONSENSE")
        async def test_seed_fails(ifx_rollback):
            pass
    """)
    result = run_pytest(pytester, ini="asyncio_mode = auto")
    result.assert_outcomes(passed=3, failed=1, errors=4)
    result.stdout.fnmatch_lines("ifx_rollback: expected its transaction to be open, but it has ended")
    result.stdout.fnmatch_lines("ifx_pool: expected a test without ifx_rollback*")
    result.stdout.fnmatch_lines("ifx_changes: expected a test without ifx_rollback*")
    result.stdout.fnmatch_lines("statement 2 of the seed, line 2 of informix_seed: syntax error *")


def test_options_choose_seeds_name_locale_and_log_mode(pytester: pytest.Pytester) -> None:
    (pytester.path / "sql").mkdir()
    (pytester.path / "sql" / "one.sql").write_text("\ufeffCREATE TABLE t (a NVARCHAR(9));", "utf-8")
    (pytester.path / "two.sql").write_text("INSERT INTO t VALUES ('ż');", "utf-8")
    (pytester.path / "more.sql").write_text("INSERT INTO t VALUES ('more')")
    pytester.makepyfile("""
        import pytest
        from pathlib import Path

        pytestmark = pytest.mark.informix_seed(Path("more.sql"))

        @pytest.mark.informix_seed("INSERT INTO t VALUES ('last')")
        async def test_options(ifx_connection):
            assert await ifx_connection.fetch("SELECT a FROM t ORDER BY ROWID") == [
                ("ż",), ("more",), ("last",)
            ]
            assert ifx_connection.database == "shop_1"
            assert ifx_connection.log_mode == "unlogged"

        async def test_log(ifx_rollback):
            pass
    """)
    ini = "informix_seeds =\n  sql/one.sql\n  two.sql\ninformix_database = shop\ninformix_locale = en_US.819"
    options = ["--informix-locale=en_US.utf8", "--informix-log-mode=unlogged"]
    result = run_pytest(pytester, *options, ini=f"asyncio_mode = auto\n{ini}")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines("the database is not logged: it has no transactions")
    assert "During handling" not in result.stdout.str()


def test_a_seed_that_fails_is_shown_without_a_traceback(pytester: pytest.Pytester) -> None:
    (pytester.path / "c.sql").write_text("CREATE TABLE u (a INT);\n\nINSERT INTO t VALUES (1)")
    pytester.makepyfile("def test_one(ifx_dsn): pass\ndef test_two(ifx_dsn): pass")
    result = run_pytest(pytester, "--informix-seed=c.sql", plugins=[])
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines("statement 2 of the seed, line 3 of c.sql: table t does not exist *")
    assert "Traceback" not in result.stdout.str() and "plugin.py" not in result.stdout.str()


def test_wrong_markers_are_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.informix_seed
        def test_empty(ifx_dsn): pass

        @pytest.mark.informix_seed(1)
        def test_type(ifx_dsn): pass

        @pytest.mark.informix_seed("CREATE TABLE t (\\n  a NONSENSE)")
        def test_sql(ifx_dsn): pass
    """)
    result = run_pytest(pytester, plugins=[])
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines([
        "informix_seed: expected SQL or paths of scripts as positional arguments",
        "informix_seed: expected SQL or the path of a script, got int",
        "statement 1 of the seed, line 2 of informix_seed: *",
        "SQL, line 2, column 5:",
        "      a NONSENSE)",
        "        ^",
    ], consecutive=False)  # fmt: skip


def test_the_report_of_a_failing_test_shows_the_last_statements_of_its_database(
    pytester: pytest.Pytester,
) -> None:
    (pytester.path / "schema.sql").write_text(SCHEMA)
    pytester.makepyfile("""
        import asyncio
        import aioifx
        import pytest

        async def test_call(ifx_connection, ifx_server):
            async with aioifx.connect(ifx_server.dsn) as other:
                await other.fetch("SELECT 'elsewhere' FROM item")
            for number in range(30):
                await ifx_connection.execute("INSERT INTO item VALUES (0, ?)", "cup")
            assert await ifx_connection.fetchval("SELECT name FROM item WHERE id = ?", 1) == "hat"

        @pytest.fixture
        async def broken(ifx_connection):
            await ifx_connection.execute("DELETE FROM nothing")

        async def test_setup(broken):
            pass

        async def test_pass(ifx_connection):
            await ifx_connection.execute("DELETE FROM item")

        async def test_rollback(ifx_rollback):
            await ifx_rollback.execute("DELETE FROM item")
            assert False
    """)
    result = run_pytest(pytester, plugins=[ASYNCIO], ini="asyncio_mode = auto\ninformix_seeds = schema.sql")
    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines([
        "*- Informix: last statements in test_2 -*",
        "DELETE FROM nothing: 0 rows, 1 round trip, *-206*",
        "*- Informix: last statements in test_1 -*",
        "INSERT INTO item VALUES (0, [?]) (CHAR), 19 times: 19 rows, 19 round trips",
        "SELECT name FROM item WHERE id = [?] (BIGINT): 1 row, * round trip*",
        "*- Informix: last statements in test -*",
        "BEGIN WORK: *",
        "DELETE FROM item: 1 row, 1 round trip",
    ])  # fmt: skip
    assert result.stdout.str().count("Informix: ") == 3
    assert "'elsewhere' FROM item:" not in result.stdout.str()


def test_faults_end_with_the_test_and_are_skipped_on_a_real_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import aioifx
        import pytest

        pytestmark = pytest.mark.informix_seed("CREATE TABLE t (a INT)")

        async def test_armed(ifx_connection, ifx_server, ifx_database):
            ifx_server.faults.lock("t", database=ifx_database.name)
            ifx_server.faults.fail_next(-244, -107, times=None)
            with pytest.raises(aioifx.RowLocked):
                await ifx_connection.fetch("SELECT * FROM t")
            ifx_server.faults.pause()

        def test_statements(ifx_server, ifx_database):
            with ifx_server.statements() as log, ifx_server.statements(ifx_database) as own:
                pass
            assert [*log] == [*own] == []

        async def test_undone(ifx_connection):
            assert await ifx_connection.fetch("SELECT * FROM t") == []
    """)
    ini = "asyncio_mode = auto"
    run_pytest(pytester, plugins=[ASYNCIO], ini=ini).assert_outcomes(passed=3)
    with remote_server() as remote:
        result = run_pytest(
            pytester, f"--informix-dsn={remote.server.dsn}", "-rs", plugins=[ASYNCIO], ini=ini
        )
        result.assert_outcomes(passed=1, skipped=2)
        result.stdout.fnmatch_lines("SKIPPED *needs the embedded server, and --informix-dsn names another")
        assert databases_of(remote) == []


REAL = """
import aioifx
import pytest

pytestmark = pytest.mark.informix_seed("INSERT INTO item VALUES (0, 'cup')")

@pytest.mark.parametrize("n", range(3))
async def test_fresh(ifx_connection, ifx_database, n):
    assert await ifx_connection.fetchval("SELECT COUNT(*) FROM item") == 2
    assert ifx_connection.database == ifx_database.name
    await ifx_connection.execute("DELETE FROM item")

@pytest.mark.parametrize("n", range(2))
async def test_rollback(ifx_rollback, n):
    assert await ifx_rollback.fetchval("SELECT COUNT(*) FROM item") == 2
    await ifx_rollback.execute("DELETE FROM item")

async def test_failure(ifx_pool):
    leaked = await aioifx.connect(ifx_pool.dsn)

def test_real(ifx_server):
    assert not ifx_server.is_embedded
"""


@pytest.mark.parametrize("arguments", [[], pytest.param(["-n2"], marks=EXHAUSTIVE)])
def test_databases_on_a_real_server_are_dropped(pytester: pytest.Pytester, arguments: list[str]) -> None:
    (pytester.path / "schema.sql").write_text(SCHEMA)
    pytester.makepyfile(REAL)
    ini = "asyncio_mode = auto\ninformix_seeds = schema.sql"
    with remote_server() as remote:
        dsn = f"--informix-dsn={remote.server.dsn.replace('@', ':secret@')}"
        result = run_pytest(pytester, dsn, *arguments, plugins=[ASYNCIO, XDIST], ini=ini)
        result.assert_outcomes(passed=6, failed=1)
        assert databases_of(remote) == []
    result.stdout.fnmatch_lines("informix: 127.0.0.1:*/sysmaster")
    assert "secret" not in result.stdout.str()


@EXHAUSTIVE
@pytest.mark.parametrize(
    "place",
    ["", "ifx_connection", "ifx_rollback"],
)
def test_databases_on_a_real_server_are_dropped_after_an_interrupt(
    pytester: pytest.Pytester, place: str
) -> None:
    pytester.makepyfile(f"""
        import os, signal
        import pytest

        def test_before(ifx_dsn):
            pass

        @pytest.fixture
        async def interrupted(ifx_dsn{place and ", "}{place}):
            signal.signal(signal.SIGINT, signal.default_int_handler)  # in a background job it is ignored
            os.kill(os.getpid(), signal.SIGINT)

        async def test_interrupt(interrupted):
            pass
    """)
    with remote_server() as remote:
        result = run_pytest(
            pytester,
            f"--informix-dsn={remote.server.dsn}",
            plugins=[ASYNCIO],
            ini="asyncio_mode = auto",
            apart=True,
        )
        result.stdout.fnmatch_lines("*KeyboardInterrupt*")
        assert result.ret == pytest.ExitCode.INTERRUPTED
        assert databases_of(remote) == []


@pytest.mark.exhaustive
def test_each_worker_of_xdist_has_a_server(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("n", range(8))
        async def test_it(ifx_connection, n):
            await ifx_connection.execute("CREATE TABLE t (a INT)")
    """)
    result = run_pytest(pytester, "-n2", plugins=[ASYNCIO, XDIST], ini="asyncio_mode = auto")
    result.assert_outcomes(passed=8)


def test_the_page_of_the_reference_is_a_project(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "reference" / "testing.md").read_text("utf-8")
    ini, *programs = (body for _, body in re.findall(r"^```(ini|python)\n(.*?)^```$", page, re.M | re.S))
    programs.append("def test_reports(reports):\n    assert reports.startswith('informix://')\n")
    pytester.makepyfile("\n".join(programs))
    scripts = pytester.mkdir("tests")
    (scripts / "schema.sql").write_text(
        "CREATE TABLE customer (id SERIAL, name VARCHAR(40)); INSERT INTO customer VALUES (0, 'Ruiz');"
    )
    for name in ("customers.sql", "reports.sql"):
        (scripts / name).write_text("UPDATE customer SET name = UPPER(name)")
    result = run_pytest(pytester, plugins=[ASYNCIO], ini=ini.replace("[pytest]", "").replace(SCOPE, ""))
    result.assert_outcomes(passed=5)


def test_a_connection_that_a_test_never_releases_fails_it_by_name(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        kept = []

        async def test_holds(ifx_pool):
            kept.append(await ifx_pool.acquire())

        @pytest.mark.filterwarnings("ignore::ResourceWarning")
        @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
        async def test_forgets(ifx_pool):
            await ifx_pool.acquire()

        async def test_releases(ifx_pool):
            async with ifx_pool.acquire() as conn:
                await conn.ping()
    """)
    result = run_pytest(pytester, plugins=[ASYNCIO], ini="asyncio_mode = auto")
    result.assert_outcomes(passed=3, errors=2)
    text = result.stdout.str()
    for name in ("test_holds", "test_forgets"):
        assert f"{name} has not released a connection of ifx_pool; acquired " in text
        assert f", in {name}\n" in text


@pytest.mark.parametrize("option", ["", "--full-trace"])
def test_tracebacks_end_at_the_call_of_the_test(option: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        async def test_wrong(ifx_connection):
            await ifx_connection.execute("SELEC 1")
    """)
    result = run_pytest(pytester, *option.split(), plugins=[ASYNCIO], ini="asyncio_mode = auto")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "SQLSyntaxError" in text
    assert ("client/execution" in text.replace("\\", "/")) is bool(option)


def test_fixtures_and_the_marker_are_described(pytester: pytest.Pytester) -> None:
    result = run_pytest(pytester, "--fixtures", "--markers", plugins=[])
    result.stdout.fnmatch_lines("@pytest.mark.informix_seed(*): SQL*")
    result = run_pytest(pytester, "--fixtures")
    text = result.stdout.str()
    for name in ("server [session scope]", "database", "dsn", "connection", "pool", "rollback", "changes"):
        assert f"\nifx_{name} -- " in text
    assert "_ifx" not in text


def test_it_is_the_entry_point_of_pytest() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"aioifx": "aioifx.testing.plugin"}


def test_loading_it_imports_only_modules_that_pytest_has_imported() -> None:
    program = (
        "import json, sys, pytest; before = set(sys.modules); import aioifx.testing.plugin;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert json.loads(run.stdout) == ["aioifx", "aioifx.testing", "aioifx.testing.plugin"]
