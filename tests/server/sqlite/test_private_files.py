from __future__ import annotations

import os
from pathlib import Path

import pytest

from aioifx.errors import InterfaceError
from aioifx.server.sqlite.private_files import DirectoryLock, copy_private, private, regular

posix = pytest.mark.skipif(os.name != "posix", reason="modes and FIFOs of POSIX")


@posix
@pytest.mark.parametrize("opener", [private, regular])
def test_a_new_file_is_readable_by_its_owner_alone(tmp_path: Path, opener: object) -> None:
    with open(tmp_path / "new", "wb", opener=opener) as file:  # type: ignore[call-overload]
        file.write(b"secret")
    copy_private(tmp_path / "new", tmp_path / "copy")
    for name in ("new", "copy"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        assert (tmp_path / name).read_bytes() == b"secret"


@posix
@pytest.mark.parametrize("mode", ["rb", "wb"])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, mode: str, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"not a regular file|directory|No such device"):
        open(tmp_path / kind, mode, opener=regular)


def test_a_lock_is_held_until_it_is_closed(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(InterfaceError, match=r"in use by another server$"):
        DirectoryLock(tmp_path)
    lock.describe("[::1]:9088 and more")
    lock.describe("[::1]:9")
    with pytest.raises(InterfaceError, match=rf"in use by the server at \[::1\]:9, process {os.getpid()}$"):
        DirectoryLock(tmp_path, is_shared=True)
    lock.close()
    lock.close()
    one, two = (DirectoryLock(tmp_path, is_shared=True) for _ in range(2))
    with pytest.raises(InterfaceError):
        DirectoryLock(tmp_path)
    one.close()
    two.close()
    DirectoryLock(tmp_path).close()


def test_a_shared_lock_writes_nothing(tmp_path: Path) -> None:
    DirectoryLock(tmp_path, is_shared=True).close()
    assert list(tmp_path.iterdir()) == []
