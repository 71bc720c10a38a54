"""Compressed files, by the end of their names."""

from __future__ import annotations

import gzip
import io
import sys
from typing import Any

import pytest

from aioifx.cli import compression
from aioifx.cli.compression import compressed, compression_of, decompressed, plain_name
from aioifx.errors import DataError, InterfaceError


@pytest.mark.parametrize(
    ("file", "kind", "plain"),
    [
        ("a.csv.gz", "gzip", "a.csv"),
        ("d/a.unl.ZST", "zstd", "d/a.unl"),
        ("a.csv", None, "a.csv"),
        ("-", None, "-"),
    ],
)
def test_the_name_tells(file: str, kind: str | None, plain: str) -> None:
    assert (compression_of(file), plain_name(file)) == (kind, plain)


@pytest.mark.parametrize("kind", ["gzip", "zstd", None])
def test_what_was_written_is_read(kind: str | None) -> None:
    if kind == "zstd" and sys.version_info < (3, 14):
        pytest.importorskip("backports.zstd")
    data = b"some text\n" * 10_000
    sink = io.BytesIO()
    file = compressed(sink, kind)
    file.write(data)
    if file is not sink:
        file.close()
    assert len(sink.getvalue()) < len(data) or kind is None
    source = decompressed(io.BytesIO(sink.getvalue()), kind)
    assert source.readable() and source.read(4) + source.read() == data


def test_members_one_after_another_are_one_file() -> None:
    data = gzip.compress(b"a") + gzip.compress(b"b")
    assert decompressed(io.BytesIO(data), "gzip").read() == b"ab"


def test_damaged_data_is_an_error() -> None:
    for data in (gzip.compress(b"a" * 100)[:-9], b"plain", gzip.compress(b"a" * 100)[:10] + b"\xff" * 20):
        with pytest.raises(DataError, match=r"^the file is not valid gzip, or is cut short$"):
            decompressed(io.BytesIO(data), "gzip").read()


def test_without_a_library_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(compression, "import_module", missing)
    with pytest.raises(InterfaceError, match=r"pip install 'aioifx\[cli\]'"):
        compressed(io.BytesIO(), "zstd")


def test_an_error_of_the_file_itself_remains() -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("broken")

    with pytest.raises(OSError, match=r"^broken$"):
        decompressed(Broken(), "gzip").read()
