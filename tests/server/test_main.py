from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aioifx import connect
from aioifx.server.__main__ import PASSWORD, parse_arguments
from aioifx.server.sqlite.databases import LogMode

ROOT = Path(__file__).parents[2]


def test_without_options_it_is_a_demo() -> None:
    options = parse_arguments([])
    assert (options.databases, options.host, options.port) == (("demo",), "127.0.0.1", 9088)
    assert (options.user, options.password, options.server_name) == (None, None, None)
    assert (options.log_mode, options.directory, options.seed) == (LogMode.LOGGED, None, None)


def test_every_option_is_taken(tmp_path: Path) -> None:
    script = tmp_path / "seed.sql"
    script.write_text("CREATE TABLE t (a INTEGER);", encoding="utf-8")
    options = parse_arguments(
        "--host 0.0.0.0 --port 1234 --database a --database b:en_US.utf8 --user u --server-name ol_demo"
        " --login-timeout 2.5 --max-sessions 7 --busy-timeout 3 --quirks no-cost row-by-row"
        f" --log-mode ansi --db-locale en_US.utf8 --directory {tmp_path} --seed {script}".split()
    )
    assert (options.host, options.port, options.databases) == ("0.0.0.0", 1234, ("a", "b:en_US.utf8"))
    assert (options.user, options.server_name) == ("u", "ol_demo")
    assert (options.login_timeout, options.max_sessions, options.busy_timeout) == (2.5, 7, 3)
    assert options.quirks == {"no-cost", "row-by-row"}
    assert (options.log_mode, options.db_locale, options.directory) == (LogMode.ANSI, "en_US.utf8", tmp_path)
    assert options.seed == "CREATE TABLE t (a INTEGER);"


@pytest.mark.parametrize(
    "wrong",
    [
        ["--log-mode", "loged"],
        ["--port", "many"],
        ["--seed", "/no/such/file"],
        ["--port", "70000"],
        ["--database", "../x"],
        ["--database", "a:klingon"],
        ["--login-timeout", "0"],
        ["--max-sessions", "0"],
        ["--quirks", "unknown"],
        ["--password-file", "/no/such/file"],
        ["--password", "y"],
        ["--read-only"],
        ["--db-locale", "klingon"],
    ],
)
def test_a_wrong_option_ends_the_program_with_a_sentence(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(wrong)
    assert ended.value.code == 2
    assert wrong[0] in capsys.readouterr().err


def test_the_password_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes("pässwörd \r\nanother line\n".encode())
    monkeypatch.setenv("AIOIFX_SERVER_PASSWORD", "of the environment")
    assert parse_arguments(["--password-file", str(secret)]).password == "pässwörd "
    assert parse_arguments([]).password == "of the environment"
    secret.write_bytes(b"p\xe4ss")
    with pytest.raises(SystemExit):
        parse_arguments(["--password-file", str(secret)])
    assert "is not UTF-8 at byte 1" in capsys.readouterr().err


@asynccontextmanager
async def program(*arguments: str, password: str | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "aioifx.server",
        *arguments,
        cwd=ROOT,
        env=None if password is None else os.environ | {PASSWORD: password},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.exhaustive
async def test_the_password_is_not_printed() -> None:
    async with program("--port", "0", "--user", "app", password="se/cret") as process:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        address = line.split()[-1]
        assert "informix://app:***@127.0.0.1:" in line
        async with connect(address, password="se/cret") as conn:
            assert (await conn.fetchval("SELECT USER FROM sysmaster:sysdual")).rstrip() == "app"
        process.send_signal(signal.SIGTERM)
        rest, errors = await process.communicate()
        assert (rest, errors) == (b"", b"")


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive), signal.SIGTERM]
)
async def test_it_says_when_it_is_ready_and_stops_when_asked(number: signal.Signals) -> None:
    async with program("--port", "0", "--database", "shop") as process:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        assert line.startswith("aioifx.server is ready: informix://informix@127.0.0.1:")
        assert line.endswith("/shop?server=ol_aioifx\n")
        process.send_signal(number)
        _, errors = await process.communicate()
        assert (process.returncode, errors) == (0, b"")


async def test_a_statement_of_the_seed_that_fails_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "schema.sql"
    script.write_bytes(b"\xef\xbb\xbfCREATE TABLE t (a INT);\n\nINSERT INTO t\n  VALUSE (1);\n")
    async with program("--port", "0", "--seed", str(script)) as process:
        _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.decode().splitlines() == [
        "aioifx.server cannot start: statement 2 of the seed, line 4 of the script: syntax error (SQLCODE -201)",
        "SQL, line 2, column 3:",
        "      VALUSE (1)",
        "      ^",
    ]


async def test_what_keeps_it_from_starting_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with program("--port", str(taken.getsockname()[1])) as process:
            _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.startswith(b"aioifx.server cannot start: ")
    assert errors.count(b"\n") == 1


@pytest.mark.exhaustive
async def test_a_directory_is_free_again_when_its_server_was_killed(tmp_path: Path) -> None:
    arguments = ("--port", "0", "--directory", str(tmp_path))
    async with program(*arguments) as first:
        assert first.stdout is not None
        assert b"is ready" in await first.stdout.readline()
        async with program(*arguments) as second:
            output, errors = await second.communicate()
        assert (output, second.returncode) == (b"", 1)
        assert b"in use by the server at 127.0.0.1:" in errors
        assert f"process {first.pid}".encode() in errors
        first.kill()
        await first.wait()
    async with program(*arguments, "--read-only") as third:
        assert third.stdout is not None
        assert b"/sysmaster?" in await third.stdout.readline()
    async with program(*arguments) as fourth:
        assert fourth.stdout is not None
        assert b"/demo?" in await fourth.stdout.readline()
