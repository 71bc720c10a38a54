"""aioifx load: formats, pipes, failures that leave nothing."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import aioifx
from aioifx.server import Server
from tests.cli.conftest import Run, no_sessions
from tests.injection import eventually

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
        ("id,name\n41,x\nwrong,y\n", 1, "record 3, line 3: column 'id'"),
        ("id,name\n41,x\n42\n", 1, "record 3, line 3: "),
        ("id,colour\n41,x\n", 1, "SQLCODE -217"),
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
        (["item", "missing.csv"], 2, "FILE: No such file or directory: missing.csv"),
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


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_while_a_pipe_is_silent_leaves_nothing(server: Server, run: Run) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aioifx", "load", "item", "-", "--format", "csv", "--commit-each", "1",
        cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"id,name\n51,x\n52,y\n53,z\n")  # and it stays open
    await process.stdin.drain()
    async with aioifx.connect(server.dsn, isolation="last_committed") as conn:
        # Then it waits for more. It may not have the reply to its last COMMIT yet, but it has that to the one before.
        await eventually(lambda: conn.fetchval("SELECT COUNT(*) FROM item WHERE id = 52"))
    process.send_signal(signal.SIGINT)
    # Not communicate(): that would close stdin.
    assert process.stdout is not None and process.stderr is not None
    out, err, code = await asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait())
    assert (code, out) == (130, b"")
    assert err in (b"interrupted; rows committed: 1\n", b"interrupted; rows committed: 2\n")
    process.stdin.close()
    await no_sessions(server)
    assert [row[0] for row in await rows(run)] == [51, 52]
