from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.object_files import PIECE, ServerFiles, unique_name
from aioifx.server.sql.errors import SqlError
from tests.server.engine.test_open_objects import TABLE, contents, stored
from tests.server.sql.kinds import error_of
from tests.server.talking import ServerCore, error_from, query, run


class Memory:
    """A client's files."""

    def __init__(self, **files: bytes) -> None:
        self.files = files

    def read(self, name: str) -> Iterator[bytes]:
        if name not in self.files:
            raise SqlError(-619, 2, name)
        yield self.files[name]

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        self.files[name] = b"".join(pieces)


@pytest.fixture
def files(engine: Engine) -> Memory:
    run(engine, TABLE)
    memory = Memory(photo=b"a photo", note=b"a note", nothing=b"")
    engine.use_client_files(memory)
    return memory


# -- at the server -----------------------------------------------------------------------------------------------------


def test_a_file_is_written_and_read_in_the_folder(tmp_path: Path) -> None:
    files = ServerFiles(tmp_path / "files")
    data = os.urandom(2 * PIECE + 5)
    files.write("a.bin", [data[:PIECE], data[PIECE:]])
    assert (tmp_path / "files" / "a.bin").read_bytes() == data
    assert [len(piece) for piece in files.read("a.bin")] == [PIECE, PIECE, 5]
    assert b"".join(files.read(str(tmp_path / "files" / "a.bin"))) == data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    files = ServerFiles(tmp_path)
    for attempt in (lambda: list(files.read("pipe")), lambda: files.write("pipe", [b"x"])):
        assert error_of(attempt) == -9810


@pytest.mark.parametrize("name", ["../demo.sqlite", "/etc/passwd", "", ".", "a/../..", "link/demo.sqlite"])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (tmp_path / "demo.sqlite").write_bytes(b"a database")
    (folder / "link").symlink_to(tmp_path)
    for attempt in (
        lambda: list(ServerFiles(folder).read(name)),
        lambda: ServerFiles(folder).write(name, [b"x"]),
    ):
        assert error_of(attempt) == -999
    assert (tmp_path / "demo.sqlite").read_bytes() == b"a database"


@pytest.mark.parametrize("name", ["missing", "missing/too", "a\0b"])
def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path, name: str) -> None:
    assert error_of(list, ServerFiles(tmp_path).read(name)) == -9810
    if name != "missing":
        with pytest.raises(SqlError):
            ServerFiles(tmp_path).write(name, [b"x"])


def test_files_at_the_server_are_in_the_databases_directory(
    engine: Engine, core: ServerCore, files: Memory
) -> None:
    folder = core.databases.files
    folder.mkdir()
    (folder / "in").write_bytes(b"from a file")
    run(engine, "INSERT INTO t VALUES (1, FILETOBLOB('in', 'server'), FILETOCLOB('in', 'SERVER', 't', 'c'))")
    assert contents(engine) == [b"from a file"]
    assert query(engine, "SELECT LOTOFILE(c, 'out!', 'server') FROM t") == [("out",)]
    assert (folder / "out").read_bytes() == b"from a file"
    assert error_from(engine, "SELECT LOTOFILE(c, '../out!', 'server') FROM t").sqlcode == -999


# -- at the client -----------------------------------------------------------------------------------------------------


def test_objects_come_from_files_and_go_to_files(engine: Engine, files: Memory) -> None:
    run(engine, "INSERT INTO t VALUES (1, FILETOBLOB('photo', 'client'), FILETOCLOB('note', 'client'))")
    run(engine, "INSERT INTO t VALUES (2, FILETOBLOB(?, 'client'), NULL)", "nothing")
    run(engine, "UPDATE t SET c = FILETOCLOB('photo', 'client') WHERE k = 2")
    assert contents(engine) == [b"a photo", b""]
    assert contents(engine, "SELECT c FROM t ORDER BY k") == [b"a note", b"a photo"]
    rows = query(
        engine, "SELECT k, LOTOFILE(b, 'copy!', 'client'), LOTOFILE(c, 'c', 'client') FROM t WHERE k = 1"
    )
    [(key, whole, numbered)] = rows
    assert (key, whole) == (1, "copy")
    assert files.files["copy"] == b"a photo"
    assert files.files[numbered] == b"a note"
    assert query(engine, "SELECT LOTOFILE(c, 'c', 'client') FROM t WHERE c IS NULL") == []
    run(engine, "UPDATE t SET b = NULL")
    assert query(engine, "SELECT LOTOFILE(b, 'c', 'client') FROM t WHERE k = 1") == [(None,)]


def test_files_are_written_with_the_first_fetch(engine: Engine, files: Memory) -> None:
    run(engine, "INSERT INTO t VALUES (1, FILETOBLOB('photo', 'client'), NULL)")
    cursor = engine.open(engine.prepare("SELECT LOTOFILE(b, 'late!', 'client') FROM t"))
    assert "late" not in files.files
    assert engine.fetch(cursor, 10) == ([("late",)], True)
    assert files.files["late"] == b"a photo"
    engine.close_cursor(engine.open(engine.prepare("SELECT LOTOFILE(b, 'never!', 'client') FROM t")))
    assert "never" not in files.files


@pytest.mark.parametrize(
    ("sql", "sqlcode"),
    [
        ("INSERT INTO t (b) VALUES (FILETOBLOB('missing', 'client'))", -619),
        ("INSERT INTO t (b) VALUES (FILETOBLOB('photo', 'elsewhere'))", -999),
        ("INSERT INTO t (b) VALUES (FILETOCLOB('photo', 'client'))", -608),
        ("INSERT INTO t (b) VALUES (FILETOBLOB('photo'))", -674),
        ("INSERT INTO t (b) VALUES (FILETOBLOB(1, 'client'))", -674),
        ("SELECT FILETOBLOB('photo', 'client') FROM systables WHERE tabid = 1", -999),
        ("SELECT LOTOFILE(k, 'photo', 'client') FROM t", -674),
        ("SELECT LOTOFILE(b, 'photo') FROM t", -674),
        ("SELECT LOCOPY(k) FROM t", -674),
        ("SELECT LOCOPY(b, 't') FROM t", -674),
    ],
)
def test_a_bad_call_is_refused_and_leaves_nothing(
    engine: Engine, files: Memory, sql: str, sqlcode: int
) -> None:
    assert error_from(engine, sql).sqlcode == sqlcode
    assert query(engine, "SELECT COUNT(*) FROM t") == [(0,)]
    run(engine, "INSERT INTO t (k) VALUES (1)")
    assert stored(engine) == 0


def test_without_a_client_its_files_cannot_be_reached(engine: Engine) -> None:
    run(engine, TABLE)
    assert error_from(engine, "INSERT INTO t (b) VALUES (FILETOBLOB('a', 'client'))").sqlcode == -999


@pytest.mark.parametrize(
    ("name", "fixed", "length"), [("a", "a.", 18), ("a!", "a", 1), ("x??.dat", "x", 7), ("?!", "?", 1)]
)
def test_a_written_file_gets_a_unique_name(name: str, fixed: str, length: int) -> None:
    first, second = unique_name(name), unique_name(name + ("" if name.endswith("!") else "?" * 8))
    assert first.startswith(fixed)
    assert len(first) == length
    assert (first == second) is name.endswith("!")
