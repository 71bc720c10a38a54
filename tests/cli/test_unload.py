"""aioifx unload: formats, files that are replaced when they are whole, failures."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

SQL = "SELECT * FROM item ORDER BY id"
CSV = 'id,name,price,day\n1,pen,1.50,2026-01-31\n2,"",,\n3,lamp,35.00,1999-12-31\n'
UNLOAD = "1|pen|1.50|2026-01-31|\n2|\\ |||\n3|lamp|35.00|1999-12-31|\n"
SUMMARY = re.compile(r"unloaded 3 rows in \d\.\d{3} s\n")


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.unl", UNLOAD), ("A.CSV", CSV), ("a", UNLOAD)])
async def test_the_name_of_a_file_decides_the_format(name: str, text: str, run: Run, tmp_path: Path) -> None:
    found = await run("unload", SQL, tmp_path / name)
    assert (found.code, found.out) == (0, "") and SUMMARY.fullmatch(found.err)
    assert (tmp_path / name).read_bytes() == text.encode()
    assert os.listdir(tmp_path) == [name]


async def test_rows_go_to_stdout(run: Run) -> None:
    found = await run("unload", SQL, "-", "--format", "csv")
    assert (found.code, found.out) == (0, CSV) and SUMMARY.fullmatch(found.err)
    assert await run("unload", SQL, "-", "--quiet") == (0, UNLOAD, "")


async def test_options_of_text(run: Run) -> None:
    line = "--format csv --delimiter ; --no-header --null NULL --dbdate MDY4/ --quiet"
    found = await run("unload", "SELECT * FROM item WHERE id < :n", "-", *line.split(), "--named", "n=3")
    assert found == (0, "1;pen;1.50;01/31/2026\n2;;NULL;NULL\n", "")
    await run("query", "UPDATE item SET name = 'Käse' WHERE id = 1")
    found = await run("unload", "SELECT name FROM item WHERE id = 1", "-", "--encoding", "ascii")
    assert found.code == 1 and "not in ascii" in found.err


@pytest.mark.parametrize("form", ["arrow", "parquet"])
async def test_arrow_and_parquet(form: str, run: Run, tmp_path: Path) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    pq: Any = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / f"a.{form}"
    for where, ids in (("", [1, 2, 3]), (" WHERE id > 9", [])):
        found = await run("unload", f"SELECT id, name FROM item{where}", file)
        assert (found.code, found.out) == (0, "")
        table = pq.read_table(file) if form == "parquet" else pa.ipc.open_stream(file.read_bytes()).read_all()
        assert table.column("id").to_pylist() == ids
        assert table.column_names == ["id", "name"]


@pytest.mark.parametrize("name", ["a.csv", "a.unl", "a.arrow", "a.parquet"])
async def test_after_a_failure_the_old_file_remains(name: str, run: Run, tmp_path: Path) -> None:
    if name in ("a.arrow", "a.parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_text("old")
    found = await run("unload", "SELECT id, 1 / (id - 3) FROM item", tmp_path / name)
    assert found.code == 1 and "SQLCODE -1202" in found.err
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]


async def test_a_file_that_cannot_be_written_is_named(run: Run, tmp_path: Path) -> None:
    found = await run("unload", SQL, tmp_path / "missing" / "a.csv")
    assert found == (1, "", f"aioifx: No such file or directory: {tmp_path / 'missing' / 'a.csv'}\n")


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
async def test_a_device_is_written_in_place(run: Run) -> None:
    assert (await run("unload", SQL, os.devnull, "--quiet")) == (0, "", "")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
@pytest.mark.parametrize("form", ["csv", "parquet"])
async def test_a_full_disk_is_an_error_with_the_file(form: str, run: Run) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    found = await run("unload", SQL, "/dev/full", "--format", form)
    assert found == (1, "", "aioifx: No space left on device: /dev/full\n")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
async def test_a_file_keeps_its_permissions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch(0o600)
    assert (await run("unload", SQL, tmp_path / "a.csv")).code == 0
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o600


async def test_a_link_stays_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "to.csv").write_text("old")
    try:
        (tmp_path / "link.csv").symlink_to(tmp_path / "to.csv")
    except OSError:
        pytest.skip("no links for this user")
    await run("unload", SQL, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "to.csv").read_bytes() == CSV.encode()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["a.unl", "--no-header"], "--no-header: not for the format unload"),
        (["a.parquet", "--delimiter", ";"], "--delimiter: not for the format parquet"),
        (["a.csv", "--delimiter", ";;"], "delimiter: expected one character"),
        (["a.csv", "--dbdate", "X"], "dbdate: "),
    ],
)
async def test_a_wrong_option_ends_with_exit_code_2(line: list[str], message: str, run: Run) -> None:
    found = await run("unload", SQL, *line)
    assert found.code == 2 and message in found.err


async def test_a_statement_without_rows_is_refused(run: Run, tmp_path: Path) -> None:
    for name in ("a.csv", "a.arrow"):
        if name == "a.arrow":
            pytest.importorskip("pyarrow")
        found = await run("unload", "UPDATE item SET price = 0 WHERE id > 0", tmp_path / name)
        assert found.code == 2 and "returns none" in found.err
    found = await run("query", "SELECT COUNT(*) AS n FROM item WHERE price = 0", "--format", "json")
    assert found.out == '{"n": 0}\n'


async def test_binary_formats_are_not_written_to_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioifx.cli.unload.is_terminal", lambda file: True)
    found = await run("unload", SQL, "-", "--format", "parquet")
    assert found.code == 2 and "--format: parquet is binary" in found.err
