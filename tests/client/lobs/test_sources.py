"""Chunks of a parameter: from values, other Lobs, iterables of both kinds, and files of both kinds."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from aioifx.client.lobs.smart_object import CHUNK
from aioifx.client.lobs.sources import ChunkSource
from aioifx.errors import DataError, InterfaceError
from tests.client.lobs.conftest import blob, clob, with_lobs
from tests.scripted import talking

DATA = bytes(range(256)) * 1500  # 384,000 bytes
TEXT = "Grüße " * 70_000  # 420,000 bytes in latin-1


async def pieces(*chunks: Any) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


class AsyncFile:
    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    async def read(self, size: int) -> bytes:
        return self._file.read(size)


class WrappedAsyncFile(AsyncFile):
    def __init__(self, data: bytes) -> None:
        inner = AsyncFile(data)
        self.read: Any = lambda size: inner.read(size)


def in_parts(data: Any, size: int) -> Iterator[Any]:
    return (data[at : at + size] for at in range(0, len(data), size))


BLOBS = [
    DATA,
    bytearray(DATA),
    memoryview(DATA),
    [DATA],
    in_parts(DATA, 1000),
    io.BytesIO(DATA),
    AsyncFile(DATA),
    WrappedAsyncFile(DATA),
]
CLOBS = [TEXT, [TEXT[:5], "", TEXT[5:]], in_parts(TEXT, 999), io.StringIO(TEXT)]


@pytest.mark.parametrize("value", BLOBS, ids=lambda value: type(value).__name__)
async def test_a_blob_takes_bytes_in_every_form(value: Any) -> None:
    async with talking() as (conn, _):
        source = ChunkSource(conn._session, value, is_text=False)
        chunks = [chunk async for chunk in source.chunks()]
        assert [len(chunk) for chunk in chunks] == [CHUNK, len(DATA) - CHUNK]
        assert b"".join(chunks) == DATA
        assert source.is_single_use == (not isinstance(value, (bytes, bytearray, memoryview)))


@pytest.mark.parametrize("value", CLOBS, ids=lambda value: type(value).__name__)
async def test_a_clob_takes_text_in_every_form(value: Any) -> None:
    async with talking() as (conn, _):
        source = ChunkSource(conn._session, value, is_text=True)
        chunks = [chunk async for chunk in source.chunks()]
        assert b"".join(chunks) == TEXT.encode("latin-1")
        assert {len(chunk) for chunk in chunks[:-1]} == {CHUNK}


async def test_a_file_on_disk_and_an_async_iterable_are_read() -> None:
    data = Path(__file__).read_bytes()  # noqa: ASYNC240 - a small file
    async with talking() as (conn, _):
        with open(__file__, "rb") as file:  # noqa: ASYNC230 - it is read in a thread
            source = ChunkSource(conn._session, file, is_text=False)
            assert b"".join([chunk async for chunk in source.chunks()]) == data
        source = ChunkSource(conn._session, pieces(b"ab", b"", b"c"), is_text=False)
        assert [chunk async for chunk in source.chunks()] == [b"abc"]
        nothings: list[Any] = [b"", [], pieces(), io.BytesIO()]
        for nothing in nothings:
            source = ChunkSource(conn._session, nothing, is_text=False)
            assert [chunk async for chunk in source.chunks()] == []


@pytest.mark.parametrize(
    ("value", "is_text", "message"),
    [
        ("text", False, "BLOB: expected bytes, got str"),
        (b"data", True, "CLOB: expected str, got bytes"),
        (7, False, "BLOB: expected bytes, got int"),
        ({"a": 1}, True, "CLOB: expected str, got dict"),
        ("€", True, r"the character '€' \(U\+20AC\) at offset 0 is not in 8859-1; locale='auto' takes .*"),
    ],
)
async def test_a_value_of_another_type_is_refused_at_once(value: Any, is_text: bool, message: str) -> None:
    async with talking() as (conn, _):
        with pytest.raises(DataError, match=f"^{message}$"):
            ChunkSource(conn._session, value, is_text=is_text)


@pytest.mark.parametrize(("chunk", "is_text"), [("text", False), (b"data", True), (None, False), (7, True)])
async def test_a_chunk_of_another_type_is_refused_when_it_comes(chunk: Any, is_text: bool) -> None:
    async with talking() as (conn, _):
        source = ChunkSource(conn._session, [chunk], is_text=is_text)
        with pytest.raises(DataError, match=r"^[BC]LOB: expected (bytes|str), got "):
            async for _ in source.chunks():
                pass


async def test_a_lob_is_read_from_its_start_and_keeps_its_position() -> None:
    async with with_lobs() as (conn, peer), talking() as (other, _):
        lob = blob(conn, peer, DATA)
        assert await lob.read(3) == DATA[:3]
        source = ChunkSource(other._session, lob, is_text=False)
        assert not source.is_single_use
        assert b"".join([chunk async for chunk in source.chunks()]) == DATA
        assert await lob.read(3) == DATA[3:6]
        with pytest.raises(DataError, match=r"^CLOB: expected a Lob of the same type, got one of BLOB$"):
            ChunkSource(other._session, lob, is_text=True)


async def test_text_of_a_lob_is_encoded_for_the_other_connection() -> None:
    async with with_lobs(locale="en_US.utf8") as (conn, peer), talking() as (other, _):
        source = ChunkSource(other._session, clob(conn, peer, "Grüße".encode()), is_text=True)
        assert [chunk async for chunk in source.chunks()] == ["Grüße".encode("latin-1")]


async def test_a_closed_lob_is_refused() -> None:
    async with with_lobs() as (conn, peer), talking() as (other, _):
        lob = blob(conn, peer, DATA)
        await lob.close()
        source = ChunkSource(other._session, lob, is_text=False)
        with pytest.raises(InterfaceError, match=r"^the Lob is closed$"):
            async for _ in source.chunks():
                pass
