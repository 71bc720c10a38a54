from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from aioifx.server.engine import external_tables, object_files
from aioifx.server.engine.engine import Engine
from aioifx.server.sqlite.databases import WriteRefusal
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all, server_core

COLUMNS = "(k INTEGER, name CHAR(6), price DECIMAL(6,2), day DATE)"


@pytest.fixture
def core(tmp_path: Path) -> Iterator[ServerCore]:
    with server_core(directory=tmp_path) as core:
        (tmp_path / "files").mkdir()
        yield core


@pytest.fixture
def engine(core: ServerCore) -> Engine:
    engine = core.engine()
    run_all(engine, f"CREATE TABLE t {COLUMNS}", external("x", "x.unl"))
    return engine


def external(name: str, *files: str, options: str = "") -> str:
    listed = ", ".join(f"'DISK:{file}'" for file in files)
    return f"CREATE EXTERNAL TABLE {name} SAMEAS t USING (DATAFILES ({listed}){options})"


def write(folder: Path, text: str, name: str = "x.unl") -> None:
    (folder / "files" / name).write_text(text, "latin-1", newline="")


ROWS = [
    (1, "one   ", Decimal("1.50"), date(2024, 2, 1)),
    (2, "t|\u00e9\n  ", None, None),
    (None, " " * 6, None, None),
]
RECORDS = "1|one|1.50|02/01/2024|\n2|t\\|\u00e9\\\n|||\n|\\ |||\n"


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
def test_a_query_reads_the_file(
    engine: Engine, tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_files, "PIECE", piece)
    write(tmp_path, RECORDS)
    assert query(engine, "SELECT * FROM x") == ROWS
    write(tmp_path, "7||||")
    assert query(engine, "SELECT k FROM x") == [(7,)]
    write(tmp_path, "")
    assert query(engine, "SELECT COUNT(*) FROM x") == [(0,)]


def test_rows_are_written_as_they_are_read(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path, RECORDS)
    run_all(engine, "INSERT INTO t SELECT * FROM x", external("y", "y.unl", options=", DELIMITER ';'"))
    assert run(engine, "INSERT INTO y SELECT * FROM t WHERE k < ? OR k IS NULL", 3).rows == 3
    assert query(engine, "SELECT * FROM y") == ROWS
    assert (
        (tmp_path / "files" / "y.unl").read_bytes().startswith(b"1;one;1.50;02/01/2024;\n2;t|\xe9\\\n;;;\n")
    )
    assert run(engine, "INSERT INTO x (name, k) SELECT name, k FROM x WHERE k = 1").rows == 1
    assert (tmp_path / "files" / "x.unl").read_text() == "1|one|||\n"


def test_several_files_are_one_table(engine: Engine, tmp_path: Path) -> None:
    run(engine, external("both", "a.unl", "b.unl"))
    write(tmp_path, "1||||\n", "a.unl")
    write(tmp_path, "2||||\n", "b.unl")
    assert query(engine, "SELECT k FROM both ORDER BY k") == [(1,), (2,)]
    assert codes(error_from(engine, "INSERT INTO both SELECT * FROM t")) == (
        -999, 0, "INSERT into several DATAFILES"
    )  # fmt: skip


def test_views_routines_and_transactions_read_the_file(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path, "1||||\n2||||\n")
    run_all(engine, "CREATE VIEW v AS SELECT k FROM x WHERE k > 1")
    run(
        engine,
        """CREATE FUNCTION total() RETURNING INTEGER;
               DEFINE n, sum INTEGER;
               LET sum = 0;
               FOREACH SELECT k INTO n FROM x
                   LET sum = sum + n;
               END FOREACH
               RETURN sum;
           END FUNCTION""",
    )
    run_all(engine, "BEGIN WORK", "CREATE TABLE u (a INT)")
    assert query(engine, "SELECT k FROM v") == [(2,)]
    run(engine, "ROLLBACK WORK")
    assert query(engine, "SELECT k FROM v") == [(2,)]
    assert query(engine, "EXECUTE FUNCTION total()") == [(3,)]
    run(engine, "DROP TABLE x")
    assert error_from(engine, "SELECT k FROM v").sqlcode == -206
    assert (tmp_path / "files" / "x.unl").exists()


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ("1|", (-846, 0, "")),
        ("1|||||", (-846, 0, "")),
        ("one||||", (-1213, 0, "")),
        ("1|||99/99/2024|", (-1205, 0, "")),
    ],
)
def test_a_record_that_does_not_fit_ends_the_query(
    engine: Engine, tmp_path: Path, record: str, error: tuple[int, int, str]
) -> None:
    write(tmp_path, f"1||||\n{record}\n")
    assert codes(error_from(engine, "SELECT * FROM x")) == error
    write(tmp_path, "1||||\n")
    assert query(engine, "SELECT k FROM x") == [(1,)]


def test_null_is_refused_where_a_column_is_not_null(engine: Engine, tmp_path: Path) -> None:
    run(engine, "CREATE EXTERNAL TABLE n (a INT NOT NULL) USING (DATAFILES ('DISK:x.unl'))")
    write(tmp_path, "|\n")
    assert codes(error_from(engine, "SELECT * FROM n")) == (-391, 0, "n.a")


def test_a_file_is_in_the_code_set_of_the_database(core: ServerCore, tmp_path: Path) -> None:
    core.databases.create("wide", core.databases.find("demo").log_mode, "anna", locale="en_US.utf8")
    engine = core.engine("wide", database_locale="en_US.utf8")
    run_all(engine, f"CREATE TABLE t {COLUMNS}", external("x", "x.unl"))
    write(tmp_path, "1|\u00e9|||\n")
    assert error_from(engine, "SELECT * FROM x").sqlcode == -23103


@pytest.mark.parametrize("path", ["../demo.sqlite", "/etc/passwd", "link.unl"])
def test_a_file_outside_the_folder_is_refused(engine: Engine, tmp_path: Path, path: str) -> None:
    (tmp_path / "files" / "link.unl").symlink_to(tmp_path / "demo.sqlite")
    run(engine, external("far", path))
    for text in ("SELECT * FROM far", "INSERT INTO far SELECT * FROM t"):
        assert codes(error_from(engine, text)) == (-999, 0, "a file outside the server's folder")


def test_a_file_that_is_not_there_is_an_error_of_the_query(engine: Engine) -> None:
    assert codes(error_from(engine, "SELECT * FROM x")) == (-461, 0, "x.unl")
    run(engine, "INSERT INTO x SELECT * FROM t")
    assert query(engine, "SELECT * FROM x") == []


@pytest.mark.skipif(sys.platform == "win32", reason="has no FIFOs")
def test_a_fifo_does_not_block_the_session(engine: Engine, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "files" / "x.unl")
    assert codes(error_from(engine, "SELECT * FROM x")) == (-461, 0, "x.unl")
    assert codes(error_from(engine, "INSERT INTO x SELECT * FROM t")) == (-461, 0, "x.unl")


def test_nothing_is_written_that_is_not_to_be_written(
    core: ServerCore, engine: Engine, tmp_path: Path
) -> None:
    run_all(engine, "SET EXPLAIN ON AVOID_EXECUTE", "INSERT INTO x SELECT * FROM t", "SET EXPLAIN OFF")
    core.databases.refusal = WriteRefusal.DISK_FULL
    assert codes(error_from(engine, "INSERT INTO x SELECT * FROM t")) == (-271, -131, "x")
    assert not (tmp_path / "files" / "x.unl").exists()


def test_an_external_table_of_another_database_is_refused(core: ServerCore, engine: Engine) -> None:
    core.databases.create("other", core.databases.find("demo").log_mode, "anna")
    other = core.engine("other")
    assert codes(error_from(other, "SELECT * FROM demo:x")) == (-999, 0, "external table of another database")


def test_the_pieces_of_a_long_record_are_joined_once() -> None:
    piece, used = "x" * 65_536, 0

    def pieces() -> Iterator[str]:
        nonlocal used
        for _ in range(64):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            yield piece
            used += tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        assert [*external_tables._records(pieces(), "|")] == [[piece * 64]]
    finally:
        tracemalloc.stop()
    assert used < 2.5 * 64 * len(piece)
