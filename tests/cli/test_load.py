"""aioifx load: formats, pipes, failures that leave nothing."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx.cli.load import load_by
from aioifx.cli.parsing import load_verbs, program_parser
from aioifx.server import Server
from tests.cli.conftest import Run, no_sessions
from tests.injection import Manner, eventually, is_cancelled

ROOT = Path(__file__).parents[2]
ROWS = [(11, "a|b", "1.50", "2026-01-31"), (12, "", None, None), (13, None, "-2.00", "1999-12-31")]
CSV = 'id,name,price,day\n11,a|b,1.50,2026-01-31\n12,"",,\n13,,-2,1999-12-31\n'
UNLOAD = "11|a\\|b|1.50|2026-01-31|\n12|\\ |||\n13||-2|1999-12-31|\n"


async def rows(run: Run) -> list[tuple[Any, ...]]:
    """The rows that were loaded."""
    import json

    found = await run("query", "SELECT * FROM item WHERE id > 10 ORDER BY id", "--format", "json")
    return [tuple(json.loads(line).values()) for line in found.out.splitlines()]


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.unl", UNLOAD), ("a", UNLOAD)])
async def test_text_files(name: str, text: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    found = await run("load", "item", tmp_path / name)
    assert (found.code, found.out) == (0, "") and re.fullmatch(r"loaded 3 rows in \d\.\d{3} s\n", found.err)
    assert await rows(run) == ROWS


@pytest.mark.parametrize("form", ["csv", "unl", "arrow", "parquet"])
async def test_what_was_unloaded_is_loaded(form: str, run: Run, tmp_path: Path) -> None:
    if form in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
    file = tmp_path / f"a.{form}"
    (tmp_path / "in.csv").write_text(CSV, "utf-8")
    await run("load", "item", tmp_path / "in.csv")
    assert (await run("unload", "SELECT * FROM item WHERE id > 10", file)).code == 0
    await run("query", "DELETE FROM item WHERE id > 10")
    assert await run("load", "item", file, "--quiet") == (0, "", "")
    assert await rows(run) == ROWS


async def test_arrow_files_with_an_index(run: Run, tmp_path: Path) -> None:
    feather: Any = pytest.importorskip("pyarrow.feather")
    pa: Any = pytest.importorskip("pyarrow")
    feather.write_feather(pa.table({"id": [21, 22], "name": ["x", None]}), tmp_path / "a.feather")
    assert (await run("load", "item", tmp_path / "a.feather")).code == 0
    assert await rows(run) == [(21, "x", None, None), (22, None, None, None)]


async def test_options_of_text(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("31;K\xe4se;01/31/2026;NULL\n".encode("latin-1"))
    line = "--format csv --delimiter ; --no-header --null NULL --dbdate MDY4/ --encoding latin-1"
    found = await run(
        "load", "item", file, *line.split(), "--columns", "id,name,day,price", "--commit-each", "10"
    )
    assert found.code == 0
    assert await rows(run) == [(31, "Käse", None, "2026-01-31")]


@pytest.mark.skipif(os.name != "posix", reason="file descriptors as paths")
@pytest.mark.parametrize("form", ["csv", "arrow"])
async def test_a_pipe(form: str, run: Run) -> None:
    data = CSV.encode()
    if form == "arrow":
        pa: Any = pytest.importorskip("pyarrow")
        sink = pa.BufferOutputStream()
        table = pa.table({"id": [11, 12]})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data = sink.getvalue().to_pybytes()
    reader, writer_fd = os.pipe()
    os.write(writer_fd, data)
    os.close(writer_fd)
    try:
        found = await run("load", "item", f"/dev/fd/{reader}", "--format", form)
    finally:
        os.close(reader)
    assert found.code == 0
    assert [row[0] for row in await rows(run)] == ([11, 12, 13] if form == "csv" else [11, 12])


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "id,name\n41,x\nwro\x1bng,y\n",
            1,
            r"record 3, line 3: column 'id': not a valid SERIAL, got 'wro\x1bng'",
        ),
        ("id,day\n41,2026-02-31\n", 1, "record 2, line 2: column 'day': not a valid DATE, got '2026-02-31'"),
        ("id,name\n41,x\n42\n", 1, "record 3, line 3: 1 field for 2 columns"),
        (f"id,name\n41,{'x' * 100}\n", 1, "got 'xxxxxxxxxxxxxxxx"),
        ("id,price\n41,1e9\n", 1, "does not fit DECIMAL(8,2), got '1000000000'"),
        ("id,nam\n41,x\n", 1, "header: table item has no column nam; did you mean 'name'?"),
        ("id,name;drop\n41,x\n", 2, "header: "),
    ],
)
async def test_a_failure_names_the_record_and_leaves_nothing(
    text: str, code: int, message: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(text)
    found = await run("load", "item", tmp_path / "a.csv")
    assert (found.code, found.out) == (code, "") and message in found.err, found.err
    assert await rows(run) == []


@pytest.mark.parametrize("form", ["arrow", "parquet"])
async def test_a_file_of_another_format_is_refused(form: str, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a").write_text(CSV)
    found = await run("load", "item", tmp_path / "a", "--format", form)
    assert found.code == 1 and f"aioifx: the file is not in the format {form}, or is cut short: " in found.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (["item", "missing.csv"], 1, "aioifx: No such file or directory: missing.csv"),
        (["item", "here.json"], 2, "--format: expected one of arrow, csv, parquet, unload"),
        (["item", "here.xlsx.gz"], 2, "--format: expected one of arrow, csv, parquet, unload"),
        (["item", "here.parquet.gz"], 2, "FILE: expected .parquet without .gz or .zst"),
        (["item", "here.csv", "--max-errors", "3"], 2, "--max-errors: expected --errors FILE"),
        (["item", "here.csv", "--errors", "here.csv"], 2, "--errors: expected another file than FILE"),
        (["item", "here.csv", "--columns", "id,nam"], 1, "columns: table item has no column nam"),
        (
            ["item", "here.csv", "--columns", "id,na me", "--truncate"],
            2,
            "--columns: expected one identifier",
        ),
        (["made", "here.csv", "--columns", "id INT)--", "--create"], 2, "--columns: expected one identifier"),
        (["item", "here", "--create"], 2, "--create: expected the format csv"),
        (["item", "here.csv", "--create", "--truncate"], 2, "--create: cannot be combined"),
        (["item", "-", "--format", "csv", "--create"], 2, "--create: expected a file, which is read twice"),
        (["item", "-", "--format", "parquet"], 2, "FILE: parquet cannot be read from a pipe"),
        (["no such", "here.csv"], 2, "table: "),
        (["absent", "here.csv"], 1, "SQLCODE -206"),
    ],
)
async def test_wrong_commands(
    line: list[str], code: int, message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.csv").write_text(CSV)
    found = await run("load", *line)
    assert found.code == code and message in found.err, found.err


@pytest.mark.parametrize("name", ["a.csv.gz", "a.unl.gz", "a.csv.zst", "a.arrow.zst"])
async def test_compressed_files(name: str, run: Run, tmp_path: Path) -> None:
    if name.endswith(".zst"):
        needs_zstd()
    if "arrow" in name:
        pytest.importorskip("pyarrow")
    assert (await run("unload", "SELECT * FROM item WHERE id < 3", tmp_path / name)).code == 0
    await run("query", "DELETE FROM item")
    assert await run("load", "item", tmp_path / name, "--quiet") == (0, "", "")
    found = await run("query", "SELECT id, name FROM item ORDER BY id", "--format", "csv")
    assert found.out == 'id,name\n1,pen\n2,""\n'


def needs_zstd() -> None:
    if sys.version_info < (3, 14):
        pytest.importorskip("backports.zstd")


@pytest.mark.parametrize("end", [".gz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "none", "empty"])
async def test_a_damaged_compressed_file_is_refused(end: str, damage: str, run: Run, tmp_path: Path) -> None:
    if end == ".zst":
        needs_zstd()
    file = tmp_path / f"a.csv{end}"
    await run("unload", "SELECT * FROM item", file)
    file.write_bytes({"cut": file.read_bytes()[:-9], "none": b"id\n1\n", "empty": b""}[damage])
    found = await run("load", "item", file)
    assert found.code == 1 and re.search(r"the file is not valid (gzip|zstd), or is cut short", found.err)


async def test_rejected_rows_go_to_a_file_with_reasons(run: Run, tmp_path: Path) -> None:
    await run("query", "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(4) NOT NULL, day DATE)")
    bad, file = tmp_path / "bad.csv", tmp_path / "a.csv"
    bad.write_text("old")
    file.write_text(
        'id,name,day\n1,a,\nx,b,\n1,"c,c",2026-01-31\n2,d\n"3"3,e,\n4,,\n5,toolong,\n6,f,2026-02-01\n',
        "utf-8",
    )
    found = await run("load", "t", file, "--errors", bad)
    assert found.code == 1
    assert re.fullmatch(rf"loaded 2 rows in \S+ s\nrejected 6 rows: see {re.escape(str(bad))}\n", found.err)
    assert (
        await run("query", "SELECT id, name FROM t ORDER BY id", "--format", "csv")
    ).out == "id,name\n1,a\n6,f\n"
    lines = bad.read_text("utf-8").splitlines()
    assert lines[0] == "record,reason,id,name,day"
    expected = [
        ('"record 3, line 3"', "not a valid INTEGER", ",x,b,"),
        ('"record 5, line 5"', "2 fields for 3 columns", ",2,d"),
        ('"record 6, line 6"', "not valid CSV", ""),
        ('"record 8, line 8"', "VARCHAR(4)", ",5,toolong,"),
        ('"record 4, line 4"', "SQLCODE -268", ',1,"c,c",2026-01-31'),
        ('"record 7, line 7"', "SQLCODE -391", ",4,,"),
    ]
    for (place, reason, fields), line in zip(sorted(expected), sorted(lines[1:]), strict=True):
        assert line.startswith(f"{place},") and reason in line and line.endswith(fields), line
    assert (await run("load", "t", tmp_path / "none.csv", "--errors", bad)).code == 1
    bad.unlink(missing_ok=True)
    (tmp_path / "good.csv").write_text("id,name,day\n7,g,\n", "utf-8")
    assert (await run("load", "t", tmp_path / "good.csv", "--errors", bad)).code == 0
    assert not bad.exists()


async def test_too_many_rejected_rows_end_the_load(run: Run, tmp_path: Path) -> None:
    file, bad = tmp_path / "a.csv", tmp_path / "bad.csv"
    file.write_text("id\n11\nx\ny\nz\n", "utf-8")
    found = await run("load", "item", file, "--errors", bad, "--max-errors", "2")
    assert found.code == 1
    assert found.err == (
        f"aioifx: more rows are rejected than --max-errors, 2: see {bad}; the last: "
        "record 5, line 5: column 'id': not a valid SERIAL, got 'z'\n"
    )
    assert len(bad.read_text("utf-8").splitlines()) == 4 and await rows(run) == []


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("path", ["/dev/full", "absent/bad.csv"])
async def test_rejected_rows_that_cannot_be_written_end_the_load(path: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id\n11\nx\n12\n", "utf-8")
    found = await run("load", "item", file, "--errors", path)
    assert found.code == 1 and found.err.endswith(f": {path}\n") and await rows(run) == []


async def test_rejected_rows_of_parquet(run: Run, tmp_path: Path) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"id": [11, 2**40], "name": ["a", "b"]}), tmp_path / "a.parquet")
    found = await run("load", "item", tmp_path / "a.parquet", "--errors", tmp_path / "bad.csv")
    assert found.code == 1 and "rejected 1 row" in found.err
    assert (tmp_path / "bad.csv").read_text("utf-8").splitlines()[1].startswith("row 1,")
    assert [row[0] for row in await rows(run)] == [11]


async def test_an_error_of_the_server_shows_the_row(run: Run, tmp_path: Path) -> None:
    await run("query", "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(40))")
    (tmp_path / "a.csv").write_text("id,name\n1,a\n1,b\x1b\n", "utf-8")
    found = await run("load", "t", tmp_path / "a.csv")
    assert found.code == 1 and "record 3, line 3: " in found.err
    assert r"the row: id '1', name 'b\x1b'" in found.err


async def test_a_table_is_created_for_csv(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "Id,First Name,price,2nd,flag,day,at,code\n1,Käse,1.50,,t,2026-01-31,2026-01-31 10:00:00,007\n"
        "3000000000,b,-20,,f,,,8\n",
        "utf-8",
    )
    found = await run("load", "made", tmp_path / "a.csv", "--create")
    assert found.code == 0
    assert found.err.startswith(
        "CREATE TABLE made (\n    id BIGINT,\n    first_name VARCHAR(20),\n    price DECIMAL(4,2),\n"
        "    column_2nd VARCHAR(20),\n    flag BOOLEAN,\n    day DATE,\n    at DATETIME YEAR TO SECOND,\n"
        "    code VARCHAR(20)\n);\nloaded 2 rows in "
    ), found.err
    shown = await run("query", "SELECT id, first_name, price, code FROM made ORDER BY id", "--format", "csv")
    assert shown.out == "id,first_name,price,code\n1,Käse,1.50,007\n3000000000,b,-20.00,8\n"


@pytest.mark.parametrize("form", ["parquet", "arrow"])
async def test_a_table_that_was_unloaded_is_created_again(form: str, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    await run("unload", "SELECT name, price, day FROM item", tmp_path / f"a.{form}")
    found = await run("load", "made", tmp_path / f"a.{form}", "--create")
    assert found.code == 0
    assert "(\n    name VARCHAR(40),\n    price DECIMAL(8,2),\n    day DATE\n)" in found.err


async def test_a_file_cannot_execute_statements(run: Run, tmp_path: Path) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    metadata = {"sql_type": "INTEGER); DROP TABLE item; CREATE TABLE other (a INTEGER"}
    schema = pa.schema([pa.field("a", pa.int32(), metadata=metadata)])
    parquet.write_table(pa.table({"a": [1]}, schema), tmp_path / "a.parquet")
    found = await run("load", "made", tmp_path / "a.parquet", "--create")
    assert found.code == 0 and found.err.startswith("CREATE TABLE made (\n    a INTEGER\n);\n")
    assert (await run("query", "SELECT id FROM item")).code == 0


async def test_a_load_that_fails_leaves_no_new_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,a\n2\n", "utf-8")
    assert (await run("load", "made", tmp_path / "a.csv", "--create")).code == 1
    found = await run("query", "SELECT * FROM made")
    assert "SQLCODE -206" in found.err


async def test_old_rows_are_removed_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV, "utf-8")
    assert (await run("load", "item", tmp_path / "a.csv", "--truncate")).code == 0
    assert (await run("query", "SELECT COUNT(*) AS n FROM item", "--format", "csv")).out == "n\n3\n"


async def test_a_failure_says_that_the_old_rows_were_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n41,x\n42\n", "utf-8")
    found = await run("load", "item", tmp_path / "a.csv", "--truncate")
    assert found.code == 1 and found.err.endswith("\nthe old rows were removed by --truncate\n")
    found = await run("load", "absent", tmp_path / "a.csv", "--truncate")
    assert found.code == 1 and "removed" not in found.err


def loading(*options: str) -> Awaitable[asyncio.subprocess.Process]:
    """`aioifx load item -` in a process."""
    return asyncio.create_subprocess_exec(
        sys.executable, "-m", "aioifx", "load", "item", "-", "--format", "csv", *options,
        cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def interrupted(process: asyncio.subprocess.Process) -> str:
    """What the process says at Ctrl-C."""
    process.send_signal(signal.SIGINT)
    # Not communicate(): that would close stdin.
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    out, err, code = await asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait())
    assert (code, out) == (130, b"")
    process.stdin.close()
    return err.decode()


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_says_that_nothing_is_stored(server: Server, run: Run) -> None:
    process = await loading("--truncate")
    assert process.stdin is not None
    process.stdin.write(b"id,name\n51,x\n")  # and it stays open
    await process.stdin.drain()

    def is_truncated() -> bool:  # and the INSERT is prepared
        return [(record.sql, record.rows) for record in server.recent_statements] == [
            ("TRUNCATE TABLE item", 3)
        ] and [session.statements for session in server.stats.sessions] == [1]

    await eventually(is_truncated)
    said = await interrupted(process)
    assert said == "interrupted; rows stored: 0; the old rows were removed by --truncate\n"
    await no_sessions(server)
    assert await rows(run) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_before_the_end_of_truncate_does_not_say_that_rows_were_removed(
    server: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIOIFX_DSN", f"{server.dsn}&lock_wait=-1")
    async with server.faults.lock("item"):
        process = await loading("--truncate")
        await eventually(lambda: any(session.waiting for session in server.stats.sessions))
        said = await interrupted(process)
    assert said == "interrupted; rows stored: 0; the old rows may have been removed by --truncate\n"
    await no_sessions(server)
    assert "(3 rows" in (await run("query", "SELECT id FROM item")).out


def arguments_of(*line: str | Path) -> argparse.Namespace:
    """The arguments of `aioifx load`."""
    return load_verbs(program_parser(), ["load"]).choices["load"].parse_args([*map(str, line)])


class Gate:
    """In place of a pattern of a fault: it matches nothing, but holds COMMIT until it is opened."""

    pattern = "COMMIT"

    def __init__(self) -> None:
        self.is_reached, self.is_open = threading.Event(), threading.Event()

    def search(self, sql: str) -> None:
        if "COMMIT" in sql:
            self.is_reached.set()
            assert self.is_open.wait(30)


@pytest.mark.parametrize(
    ("options", "end", "said", "stored"),
    [
        ("", "done", "3", 3),
        ("", "fails", "0", 0),
        ("", "lost", "not known, because COMMIT was sent and not answered", 3),
        ("--create", "done", "3", 3),
        ("--commit-each=1", "done", "1", 1),
        ("--commit-each=2", "done", "1 to 2", 2),
        ("--commit-each=2", "fails", "0", 0),
    ],
)
async def test_an_interrupt_during_commit_says_what_is_stored(
    options: str, end: str, said: str, stored: int, server: Server, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "a.csv").write_text("id,name\n51,x\n52,y\n53,z\n")
    table = "made" if "--create" in options else "item"
    arguments = arguments_of(table, tmp_path / "a.csv", *options.split())
    gate: Any = Gate()
    async with aioifx.connect(server.dsn) as conn:
        server.faults.fail_next(-1, match=gate)
        if end == "fails":
            server.faults.fail_next(-346, match="COMMIT")
        if end == "lost":
            server.faults.kill_during("COMMIT", effect="after")
        task = asyncio.create_task(load_by(conn, arguments))
        await eventually(gate.is_reached.is_set)
        task.cancel()
        await asyncio.sleep(0)
        gate.is_open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    server.faults.clear()
    assert capsys.readouterr().err.endswith(f"interrupted; rows stored: {said}\n")
    async with aioifx.connect(server.dsn) as conn:
        assert await conn.fetchval(f"SELECT COUNT(*) FROM {table} WHERE id > 50") == stored


@pytest.mark.exhaustive
@pytest.mark.parametrize("manner", [Manner.WAITING, Manner.WOKEN])
@pytest.mark.parametrize("options", ["", "--truncate", "--commit-each=1", "--commit-each=2"])
async def test_an_interrupt_at_any_moment_says_what_is_stored(
    options: str, manner: Manner, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("id,name\n51,x\n52,y\n53,z\n")
    arguments = arguments_of("item", tmp_path / "a.csv", *options.split())
    for point in count(1):
        async with aioifx.connect(server.dsn) as conn:
            if not await is_cancelled(partial(load_by, conn, arguments), manner, point):
                break
        said = re.search(r"rows stored: (\d)(?: to (\d))?", capsys.readouterr().err)
        async with aioifx.connect(server.dsn) as conn:
            stored = await conn.fetchval("SELECT COUNT(*) FROM item WHERE id > 50")
            await conn.execute("DELETE FROM item WHERE id > 50")
        assert said and int(said[1]) <= stored <= int(said[2] or said[1]), (point, said, stored)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_while_a_pipe_is_silent_leaves_nothing(server: Server, run: Run) -> None:
    await run("query", "CREATE UNIQUE INDEX item_id ON item (id)")
    process = await loading("--commit-each", "1", "--errors", os.devnull)
    assert process.stdin is not None
    process.stdin.write(b"id,name\n51,x\n51,y\n52,y\n53,z\n")  # and it stays open
    await process.stdin.drain()
    async with aioifx.connect(server.dsn, isolation="last_committed") as conn:
        await eventually(lambda: conn.fetchval("SELECT COUNT(*) FROM item WHERE id = 52"))
    said = await interrupted(process)
    await no_sessions(server)
    stored = [row[0] for row in await rows(run)]
    assert said == f"interrupted; rows stored: {len(stored)}\n" and stored[:2] == [51, 52]
