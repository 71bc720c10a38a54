from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import IO

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import Databases, LogMode, WriteRefusal, numbered_locale, unended


def sqlcode_of(raised: pytest.ExceptionInfo[SqlError]) -> int:
    return raised.value.sqlcode


def test_a_new_database_has_the_system_catalog() -> None:
    databases = Databases()
    database = databases.create("shop", LogMode.LOGGED, "anna")
    connection = sqlite3.connect(database.path)
    names = {row[0] for row in connection.execute('SELECT tabname FROM "systables"')}
    connection.close()
    assert {"systables", "syscolumns", " GL_COLLATE"} <= names
    databases.close()


def test_temporary_databases_leave_no_files() -> None:
    databases = Databases()
    folder = databases.create("shop", LogMode.LOGGED, "anna").path.parent
    assert folder.is_dir()
    databases.close()
    assert not folder.exists()


def test_databases_in_a_directory_are_found_again(tmp_path: Path) -> None:
    first = Databases(tmp_path / "data", "en_US.utf8")
    first.create("plain", LogMode.UNLOGGED, "anna")
    first.create("shop", LogMode.ANSI, "bert")
    first.close()
    second = Databases(tmp_path / "data")
    assert second.names == ["plain", "shop"]
    shop = second.find("shop")
    found = (shop.log_mode, shop.owner, shop.locale, shop.codec)
    assert found == (LogMode.ANSI, "bert", "en_US.57372", "utf-8")
    second.close()
    assert (tmp_path / "data" / "shop.sqlite").is_file()


def test_a_foreign_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(ValueError, match=r"a\.sqlite is not a database"):
        Databases(tmp_path)
    (tmp_path / "a.sqlite").unlink()
    connection = sqlite3.connect(tmp_path / "b.sqlite")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(ValueError, match=r"b\.sqlite is not a database"):
        Databases(tmp_path)


def test_names_that_exist_or_are_none_are_refused() -> None:
    databases = Databases()
    databases.create("shop", LogMode.LOGGED, "anna")
    with pytest.raises(SqlError) as raised:
        databases.create("shop", LogMode.LOGGED, "anna")
    assert (raised.value.sqlcode, raised.value.isamcode, raised.value.token) == (-330, -100, "shop")
    for name in ("../shop", "", "Shop", "a b", "1st"):
        with pytest.raises(SqlError) as raised:
            databases.create(name, LogMode.LOGGED, "anna")
        assert sqlcode_of(raised) == -354
    databases.close()


def test_a_database_in_use_or_the_servers_own_is_not_dropped() -> None:
    databases = Databases()
    databases.create("sysmaster", LogMode.LOGGED, "informix")
    databases.create("shop", LogMode.LOGGED, "anna")
    database = databases.open("shop")
    for name, sqlcode in (("shop", -425), ("sysmaster", -389), ("missing", -329)):
        with pytest.raises(SqlError) as raised:
            databases.drop(name)
        assert sqlcode_of(raised) == sqlcode
    databases.on_closed(database)
    databases.drop("shop")
    assert databases.names == ["sysmaster"]
    assert not list(database.path.parent.glob("shop*"))
    databases.close()


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("en_US.8859-1", "en_US.819"),
        ("en_US.819", "en_US.819"),
        ("de_DE.utf8", "de_DE.57372"),
        ("de_DE.UTF8", "de_DE.57372"),
        ("en_US.CP1252", "en_US.CP1252"),
    ],
)
def test_locales_are_stored_with_numbers(given: str, stored: str) -> None:
    assert numbered_locale(given) == stored


def test_a_database_may_have_a_locale_that_is_not_the_servers() -> None:
    databases = Databases(locale="en_US.utf8")
    databases.create("plain", LogMode.LOGGED, "anna", "en_US.8859-1")
    databases.create("shop", LogMode.LOGGED, "anna")
    assert [database.locale for database in databases.all()] == ["en_US.819", "en_US.57372"]
    databases.close()


def test_an_unknown_locale_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match="klingon"):
        Databases(tmp_path / "data", "tlh.klingon")
    assert not (tmp_path / "data").exists()


def test_a_copy_has_what_the_original_has(tmp_path: Path) -> None:
    databases = Databases(tmp_path)
    original = databases.create("shop", LogMode.UNLOGGED, "anna", "en_US.utf8")
    killed = sqlite3.connect(original.path)  # its changes stay in the write-ahead log until it closes
    killed.execute("CREATE TABLE t (a)")
    killed.commit()
    copy = databases.copy("shop", "shop2")
    killed.close()
    assert (copy.log_mode, copy.owner, copy.locale) == (LogMode.UNLOGGED, "anna", "en_US.57372")
    connection = sqlite3.connect(copy.path)
    assert connection.execute("SELECT * FROM t").fetchall() == []
    connection.close()
    databases.close()
    assert Databases(tmp_path).names == ["shop", "shop2"]


def test_a_database_that_is_open_is_not_copied() -> None:
    databases = Databases()
    opened = databases.create("shop", LogMode.LOGGED, "anna")
    databases.create("other", LogMode.LOGGED, "anna")
    databases.open("shop")
    for source, name, sqlcode in (
        ("shop", "copy", -425),
        ("none", "copy", -329),
        ("other", "shop", -330),
        ("other", "a b", -354),
    ):
        with pytest.raises(SqlError) as raised:
            databases.copy(source, name)
        assert sqlcode_of(raised) == sqlcode
    databases.on_closed(opened)
    databases.copy("shop", "copy")
    databases.close()


def test_a_copy_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    databases = Databases(tmp_path)
    databases.create("shop", LogMode.LOGGED, "anna")

    def fail(source: IO[bytes], target: IO[bytes], length: int) -> None:
        target.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with pytest.raises(OSError, match="disk full"):
        databases.copy("shop", "copy")
    assert databases.names == ["shop"] and not (tmp_path / "copy.sqlite").exists()


def test_a_directory_has_one_server(tmp_path: Path) -> None:
    first = Databases(tmp_path / "data")
    first.describe("127.0.0.1:9088")
    used = rf"data is in use by the server at 127\.0\.0\.1:9088, process {os.getpid()}$"
    for read_only in (False, True):
        with pytest.raises(InterfaceError, match=used):
            Databases(tmp_path / "data", read_only=read_only)
    first.close()
    looking, as_well = (Databases(tmp_path / "data", read_only=True) for _ in range(2))
    looking.close()
    as_well.close()
    Databases(tmp_path / "data").close()


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    databases = Databases(tmp_path / "data")
    original = databases.create("shop", LogMode.LOGGED, "anna")
    original.committed.add(1)
    databases.copy("shop", "other")
    databases.open("shop")
    databases.on_closed(original)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()}
    assert set(modes) == {
        "aioifx.lock",
        *(f"shop.sqlite{end}" for end in ("", "-wal", "-shm", "-committed")),
        *(f"other.sqlite{end}" for end in ("", "-committed")),
    }
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    databases.close()


def test_a_directory_that_is_only_read_does_not_change(tmp_path: Path) -> None:
    first = Databases(tmp_path)
    first.create("shop", LogMode.LOGGED, "anna")
    first.files.mkdir()
    (first.files / "photo").write_bytes(b"photo")
    first.close()
    (tmp_path / "left.sqlite-shm").touch()
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    second = Databases(tmp_path, read_only=True)
    assert second.names == ["shop"]
    assert (second.files / "photo").read_bytes() == b"photo"
    assert second.refusal is WriteRefusal.SECONDARY
    second.create("more", LogMode.LOGGED, "anna")
    copies = second.directory
    assert not (copies / "left.sqlite-shm").exists()
    second.close()
    assert not copies.exists()
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert {path: facts.st_mtime_ns for path, facts in after.items()} == {
        path: facts.st_mtime_ns for path, facts in before.items()
    }


def test_a_directory_that_is_only_read_exists(tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match="nowhere does not exist"):
        Databases(tmp_path / "nowhere", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_commit_of_an_exclusive_transaction_is_not_committed(tmp_path: Path) -> None:
    """Its number is written before its changes are."""
    databases = Databases(tmp_path)
    databases.create("shop", LogMode.LOGGED, "informix")
    database = databases.find("shop")
    database.committed.add(7)
    assert [*unended(database)] == [7]
    databases.close()
    again = Databases(tmp_path)
    assert again.find("shop").committed.numbers == frozenset()
    again.close()
