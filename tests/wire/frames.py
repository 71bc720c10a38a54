"""The recorded frames in tests/vectors, one by one, whole again where the recording kept only head and tail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count, repeat
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple

from aioifx.wire.capabilities import Capabilities

VECTORS = Path(__file__).parents[1] / "vectors"

JDBC_FILES = (
    "batch", "callable", "cancel", "errors", "errors15", "lob", "login",
    "metadata", "objects15", "outputs15", "owners15", "prepared", "protocols15", "put", "scroll", "select", "session",
    "transactions", "types15",
)  # fmt: skip


class Frame(NamedTuple):
    """Everything that one side said before the other side's turn."""

    file: str
    case: str
    number: int
    side: str
    """C is IBM's driver, S the rig whose answers it accepted; anything else happened beside the bytes."""
    data: bytes
    means: str
    capabilities: Capabilities

    def __repr__(self) -> str:
        return f"{self.file}.json {self.case}[{self.number}] {self.side} {self.means[:60]}"

    @property
    def is_login(self) -> bool:
        return "login" in self.means

    @property
    def is_event(self) -> bool:
        """A close, an urgent byte, a handshake of TLS, a gap: no bytes of the stream."""
        return self.side not in ("C", "S") or not self.data or "urgent" in self.means or "TLS" in self.means


@cache
def load(file: str) -> Any:
    return json.loads((VECTORS / f"{file}.json").read_text("utf-8"))


@cache
def frames(file: str) -> tuple[Frame, ...]:
    """Every frame of a JDBC file."""
    return tuple(frame for case in load(file)["cases"] for frame in _frames_of(file, case))


def _frames_of(file: str, case: dict[str, Any]) -> Iterator[Frame]:
    capabilities = _dialect_of(case)
    for index, entry in enumerate(case["frames"]):
        data = bytes.fromhex(entry["hex"])
        if entry.get("truncated"):
            data = whole(case["name"], entry)
        yield Frame(file, case["name"], index, entry["dir"], data, entry["means"], capabilities)


def _dialect_of(case: dict[str, Any]) -> Capabilities:
    """The layouts in force: what the case itself agreed on, else those of an offer without bits 69 and 70."""
    masks = [
        bytes.fromhex(entry["hex"])[4:13] for entry in case["frames"] if entry["hex"].startswith("007e0009")
    ]
    return Capabilities.negotiated(masks[0], masks[1]) if len(masks) >= 2 else Capabilities()


# -- frames above two kilobytes ---------------------------------------------------------------------------------------


def whole(case: str, entry: dict[str, Any]) -> bytes:
    """A frame from its head, its regular middle and its tail; the recorded hash says whether that is right."""
    head, tail, size = bytes.fromhex(entry["hex"]), bytes.fromhex(entry["hex_tail"]), entry["bytes"]
    for keep, pieces in _middles(case, head):
        data = bytearray(head[:keep])
        for piece in pieces:
            if len(data) + len(piece) > size - 2:  # at least SQ_EOT is the tail's
                break
            data += piece
        data += tail[len(tail) - (size - len(data)) :]
        if len(data) == size and hashlib.sha256(data).hexdigest() == entry["sha256"]:
            return bytes(data)
    raise AssertionError(f"{case}: a frame of {size} bytes cannot be put together: {entry['means'][:80]}")


def _middles(case: str, head: bytes) -> Iterator[tuple[int, Iterable[bytes]]]:
    """What may repeat in a long frame: how much of the head to keep, and the pieces after it."""
    if head.startswith(b"\0\4\0\2\0\5\0\3"):  # SQ_ID, then SQ_BIND and SQ_EXECUTE for each row
        yield 4, map(_bound_row, count(int.from_bytes(head[14:18], "big")))
    if head.startswith(b"\0\x0f"):  # SQ_DONE and SQ_COST for each execution
        yield 0, repeat(head[:26])
    if head.startswith(b"\0\x0e"):  # SQ_TUPLE
        yield 0, map(_row, count(int.from_bytes(head[8:12], "big")))
        yield 8, (head[8:10].ljust(5000),)
    if head.startswith(b"\0\2"):  # SQ_PREPARE
        yield 37, repeat(b"1234567890,")
        for sql in load("metadata_sql")["methods"].get(case, []):
            yield 8, (sql.encode(),)
    if (put := head.find(b"\0\x11\0\0", 28)) > 0:  # SQ_PUT
        yield put, map(_put_row, count(1))
        yield put + 8, map(lambda number: pack(">i", number), count(1))
        yield put + 8, map(lambda number: str(number).encode().ljust(5000), count())
    if b"\0\x29\0\1\0\x27" in head:  # SQ_BBIND, SQ_BLOB
        yield head.index(b"\0\x27\4\0"), _blob(bytes(2500))
    if head.startswith(b"\0\x27"):
        yield 0, _blob(b"0123456789" * 300)


def _row(number: int) -> bytes:
    text = b"name%d" % number
    payload = pack(">iB", number, len(text)) + text + (b"row %d" % number).ljust(40)
    return pack(">hhi", 14, 0, len(payload)) + payload + b"\0" * (len(payload) & 1)


def _bound_row(number: int) -> bytes:
    text = b"name%d" % (number - 1)
    bound = pack(">hhh", 0, 0, 0) + pack(">h", len(text)) + text + b"\0" * (len(text) & 1)
    amount = bytes.fromhex("0005 0000 0002 0003 c10a19 00")
    return pack(">hhhhhi", 5, 3, 2, 0, 0x0A00, number) + bound + amount + b"\0\7"


def _put_row(number: int) -> bytes:
    text = b"name%d" % (number - 1)
    payload = pack(">iB", number, len(text)) + text + bytes.fromhex("c10a19000000")
    return pack(">hih", 17, len(payload), 1) + payload + b"\0" * (len(payload) & 1)


def _blob(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), 1024):
        piece = data[at : at + 1024]
        yield pack(">hh", 39, len(piece)) + piece
