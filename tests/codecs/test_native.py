"""What native and pure owe alike. Of a DecodeRun: where it stops, what it leaves alone, what a row is made of. Of
EncodeRows: what is handed back, and that nothing is lost or left."""

from __future__ import annotations

import datetime as dt
import gc
import importlib
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import tracemalloc
import weakref
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from aioifx import _speedups
from aioifx.codecs import native
from aioifx.codecs.base import ENVELOPE_HEAD, Codec, Kind
from aioifx.codecs.conversions import Conversions, TypeCodec
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.registry import codecs_for
from aioifx.codecs.row_codegen import DecodeRun
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import TUPLE_FRAME, Frame
from aioifx.errors import DataError
from aioifx.rows import Record, record_maker
from aioifx.sqltypes import Column, Datetime, IntervalYM, Row, SqlType, TypeCode, Unit, datetime_qualifier
from tests.codecs.samples import BOOLEAN, CP1252, INTEGER, LATIN1, LVARCHAR, UTF8, columns_of, decimal_type
from tests.system.fuzz import differential_params, differential_tuples
from tests.system.fuzz.differential_rows import case, difference

IS_BUILT = importlib.util.find_spec("aioifx._speedups.row_decoder") is not None
built = pytest.mark.skipif(not IS_BUILT, reason="the kernel is not built")

Maker = Callable[..., DecodeRun]

MAKERS = [
    pytest.param(native.native_decoder, marks=built, id="native"),
    pytest.param(native.pure_decoder, id="pure"),
]
both = pytest.mark.parametrize("make", MAKERS)

VARCHAR20 = SqlType(TypeCode.VARCHAR, 20)
CLOCK = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.HOUR, Unit.SECOND).encoded)
MOMENT = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.YEAR, Unit.FRACTION, 3).encoded)
TYPES = (
    INTEGER,
    SqlType(TypeCode.INT8, 10),
    SqlType(TypeCode.FLOAT, 8),
    decimal_type(8, 2),
    SqlType(TypeCode.DATE, 4),
    MOMENT,
    CLOCK,
    SqlType(TypeCode.CHAR, 4),
    VARCHAR20,
    BOOLEAN,
    LVARCHAR,
)
ROW: Row = (
    7,
    -8,
    -0.0,
    Decimal("-1.50"),
    dt.date(2024, 2, 29),
    dt.datetime(2024, 2, 29, 1, 2, 3, 4000),
    dt.time(0, 5, 6),
    "ab  ",
    "name",
    True,
    "long",
)
NULLS: Row = (None,) * len(TYPES)
SEVEN = bytes.fromhex("000e 0000 00000004 00000007")


def codecs_of(*types: SqlType, code_set: CodeSet = LATIN1) -> tuple[Codec, ...]:
    return codecs_for(columns_of(*types), code_set)


def messages(rows: list[Row], *types: SqlType, code_set: CodeSet = LATIN1) -> bytearray:
    return bytearray(RowEncoder(columns_of(*types), code_set).encode(rows))


def foreign(decode: Callable[..., Any]) -> Codec:
    """A field of four bytes that only Python understands."""

    def encode(value: Any) -> bytes:
        raise AssertionError(value)

    return Codec(Kind.OTHER, 0, 4, decode, encode)


# --- which one ------------------------------------------------------------------------------------------------------


def printed(program: str, **env: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in (_speedups.SWITCH, "PYTHON_GIL")}
    command = [sys.executable, "-c", f"import sys, aioifx; print({program})"]
    return subprocess.run(command, env=kept | env, capture_output=True, text=True, check=True).stdout.strip()


def test_the_switch_forces_pure_python() -> None:
    program = "aioifx.speedups, sys.modules['aioifx.codecs.native'].make_decoder.__name__"
    assert printed(program, **{_speedups.SWITCH: "0"}) == f"pure: {_speedups.SWITCH}=0 pure_decoder"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'aioifx._speedups.row_decoder'"), "the kernel is not built"),
        (ImportError("no subinterpreters"), "no subinterpreters"),
        (ImportError(), "ImportError()"),
        (ValueError("CoreInbox size changed"), "CoreInbox size changed"),  # modules of different builds
    ],
)
def test_a_kernel_that_cannot_be_imported(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.delenv(_speedups.SWITCH, raising=False)
    monkeypatch.setattr(_speedups, "import_module", fail)
    assert _speedups._why_pure() == reason


def remove(name: str) -> Callable[[Path], None]:
    """Remove a module of a built kernel."""
    return lambda folder: next(folder.glob(f"{name}.c*-*")).unlink()


def make_newer(path: Path) -> None:
    later = time.time() + 9
    os.utime(path, (later, later))


def edit(name: str) -> Callable[[Path], None]:
    """Change a source after the kernel was built."""
    return lambda folder: make_newer(folder / name)


def move_into_wheel(folder: Path) -> None:
    """Leave what a wheel has, with sources that were installed last."""
    for path in folder.glob("*.p*"):
        path.unlink() if path.suffix in (".pyx", ".pxd") else make_newer(path)


def move_into_zip(folder: Path) -> None:
    """Leave a zip file with what the pure wheel has."""
    with zipfile.ZipFile(folder.parents[1] / "packages.zip", "w") as archive:
        for path in (folder.parent / "__init__.py", *folder.glob("*.py")):
            archive.write(path, path.relative_to(folder.parents[1]))
    shutil.rmtree(folder.parent)


NOT_BUILT = "the kernel is not built"


@built
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: None, ""),
        (remove("inbox"), NOT_BUILT),
        (remove("operation"), NOT_BUILT),
        (remove("round_trip"), NOT_BUILT),
        (remove("row_encoder"), NOT_BUILT),
        (edit("inbox.py"), "inbox was built before its source changed"),
        (edit("round_trip.pxd"), "round_trip was built before its source changed"),
        (edit("reply_reader.pyx"), "reply_reader was built before its source changed"),
        (move_into_wheel, ""),
        (move_into_zip, NOT_BUILT),
    ],
)
def test_a_kernel_is_used_whole_or_not_at_all(
    change: Callable[[Path], None], reason: str, tmp_path: Path
) -> None:
    folder = tmp_path / "aioifx" / "_speedups"
    shutil.copytree(SPEEDUPS, folder)
    (tmp_path / "aioifx" / "__init__.py").touch()
    built = time.time_ns() - 10**9  # all of it at one moment, and before the change
    for path in folder.iterdir():
        os.utime(path, ns=(built, built))
    change(folder)
    program = (
        "from aioifx._speedups import REASON, inbox, round_trip; from aioifx._speedups.inbox import CoreInbox\n"
        "buffer = inbox.CoreInbox(9); round_trip.CoreChannel(buffer).data_received(b''); assert not buffer.unread\n"
        "assert inbox.CoreInbox is CoreInbox and round_trip.YIELD is inbox.YIELD\n"
        "print(REASON, inbox.__file__.endswith('.py'), round_trip.__file__.endswith('.py'), sep='; ')"
    )
    places = os.pathsep.join(map(str, (tmp_path, tmp_path / "packages.zip")))
    environment = {name: value for name, value in os.environ.items() if name != _speedups.SWITCH}
    off = {_speedups.SWITCH: "0"}
    for switch, expected in (dict[str, str](), reason), (off, f"{_speedups.SWITCH}=0"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=environment | switch | {"PYTHONPATH": places},
            capture_output=True,
            text=True,
        )
        is_pure = bool(expected)
        assert (run.stdout.strip(), run.stderr) == (f"{expected}; {is_pure}; {is_pure}", "")


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the build has the lock")
def test_without_the_interpreter_lock_the_kernel_is_used_and_the_lock_stays_off() -> None:
    assert printed("sys._is_gil_enabled()") == "False"
    assert (printed("aioifx.speedups") == "native") == IS_BUILT


def test_the_name_tells_which_one_was_chosen() -> None:
    chosen = native.native_decoder if native.speedups == "native" else native.pure_decoder
    assert native.make_decoder is chosen
    assert native.NATIVE == (native.speedups == "native") != native.speedups.startswith("pure: ")


# --- where it stops -------------------------------------------------------------------------------------------------


@both
def test_whole_messages_are_taken_from_the_position_to_the_end(make: Maker) -> None:
    run, rows = make(codecs_of(INTEGER), LATIN1), list[Row]()
    data = bytearray(b"\xff\xff" + SEVEN * 3)
    assert run(data, 2, 2 + 2 * len(SEVEN), rows) == 2 + 2 * len(SEVEN)
    assert rows == [(7,), (7,)]


@both
def test_any_cut_leaves_what_is_not_whole(make: Maker) -> None:
    data = messages([ROW, NULLS, ROW], *TYPES)
    ends = [0, *(len(messages([ROW, NULLS, ROW][:count], *TYPES)) for count in (1, 2, 3))]
    run = make(codecs_of(*TYPES), LATIN1)
    for cut in range(len(data) + 1):
        rows: list[Row] = []
        whole = max(end for end in ends if end <= cut)
        assert run(data, 0, cut, rows) == whole
        assert rows == [ROW, NULLS, ROW][: ends.index(whole)]
        assert run(data[:cut], 0, cut, rows) == whole


@both
@pytest.mark.parametrize(
    "broken",
    [
        "000f 0000 00000004 00000007",  # another tag
        "000e 0000 00000003 00000007",  # shorter than its fields
        "000e 0000 00000006 000000070000",  # longer
        "000e 0000 fffffff0 00000007",  # negative
        "000e 0000 7fffffff 00000007",  # longer than everything
        "000e 0000 80000000 00000007",
    ],
)
def test_it_stops_silently_before_a_row_for_the_reference(make: Maker, broken: str) -> None:
    run, rows = make(codecs_of(INTEGER), LATIN1), list[Row]()
    data = bytearray(SEVEN + bytes.fromhex(broken) + SEVEN)
    assert run(data, 0, len(data), rows) == len(SEVEN)
    assert rows == [(7,)]


@both
@pytest.mark.parametrize("size", [0x14, 0x7F, 0xFF])
def test_a_length_reaches_neither_beyond_its_row_nor_into_the_fields_after_it(make: Maker, size: int) -> None:
    types = (VARCHAR20, INTEGER, VARCHAR20)
    sound = messages([("abc", 7, "def")] * 2, *types)
    run = make(codecs_of(*types), LATIN1)
    for at in (8, 16):
        broken = bytearray(sound)
        broken[at] = size
        rows: list[Row] = []
        assert run(broken, 0, len(broken), rows) == 0
        assert rows == []


@both
def test_a_value_that_means_nothing_is_left_to_the_reference(make: Maker) -> None:
    wrong = {
        SqlType(TypeCode.DATE, 4): "7fffffff",
        SqlType(TypeCode.INT8, 10): "0002 00000001 00000000",
        decimal_type(4, 2): "c1640000",
        CLOCK: "c3190000",
        BOOLEAN: "00 00000001 78",
    }
    for sql_type, field in wrong.items():
        payload = bytes.fromhex(field)
        data = bytearray(
            b"\0\x0e\0\0" + len(payload).to_bytes(4, "big") + payload + b"\0" * (len(payload) & 1)
        )
        rows: list[Row] = []
        assert make(codecs_of(sql_type), LATIN1)(data, 0, len(data), rows) == 0, sql_type
        assert rows == []


@both
def test_a_function_that_refuses_a_value_stops_the_run_before_its_row(make: Maker) -> None:
    def decode(field: bytes) -> int:
        if field == b"\0\0\0\7":
            raise DataError("seven")
        return 1

    run, rows = make((foreign(decode),), LATIN1), list[Row]()
    other = SEVEN[:-1] + b"\1"
    data = bytearray(other + SEVEN)
    assert run(data, 0, len(data), rows) == len(other)
    assert rows == [(1,)]


@both
def test_other_errors_propagate_and_keep_the_rows_before_them(make: Maker) -> None:
    calls: list[bytes] = []

    def decode(field: bytes) -> int:
        calls.append(field)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return 1

    rows: list[Row] = []
    with pytest.raises(KeyboardInterrupt):
        make((foreign(decode),), LATIN1)(bytearray(SEVEN * 2), 0, 2 * len(SEVEN), rows)
    assert rows == [(1,)]


@both
@pytest.mark.parametrize(
    "row_type", [tuple, record_maker(columns_of(*TYPES, INTEGER, INTEGER))], ids=["tuple", "Record"]
)
def test_fields_that_only_python_decodes_do_not_slow_down_the_others(make: Maker, row_type: Any) -> None:
    # A large object's descriptor of fixed width, and an opaque value in its envelope, among all other kinds.
    descriptor = Codec(Kind.OTHER, 0, 56, bytes, bytes)
    opaque = Codec(Kind.OTHER, ENVELOPE_HEAD, 0, list, bytes)
    codecs, fields = codecs_of(*TYPES), RowEncoder(columns_of(*TYPES), LATIN1, frame=None).fields
    payload = b"".join(field.codec.encode(value) for field, value in zip(fields, ROW, strict=True))
    payload = payload[:4] + b"d" * 56 + payload[4:] + b"\0\0\0\0\3abc"
    data = (
        bytearray(b"\0\x0e\0\0" + len(payload).to_bytes(4, "big") + payload + b"\0" * (len(payload) & 1)) * 3
    )
    rows: list[Row] = []
    run = make((codecs[0], descriptor, *codecs[1:], opaque), LATIN1, row_type)
    assert run(data, 0, len(data), rows) == len(data)
    assert rows == [(ROW[0], b"d" * 56, *ROW[1:], list(b"\0\0\0\0\3abc"))] * 3
    assert all(gc.is_tracked(row) for row in rows)


@both
def test_a_row_without_columns_is_an_empty_tuple(make: Maker) -> None:
    rows: list[Row] = []
    empty = bytearray.fromhex("000e 0000 00000000" * 2)
    assert make((), LATIN1)(empty, 0, len(empty), rows) == 16
    assert rows == [(), ()]


# --- the buffer -----------------------------------------------------------------------------------------------------


@both
def test_nothing_of_the_buffer_is_held_after_a_run(make: Maker) -> None:
    data = messages([ROW], *TYPES)
    rows: list[Row] = []
    make(codecs_of(*TYPES), LATIN1)(data, 0, len(data), rows)
    size = len(data)
    data *= 1000  # raises BufferError while there is an export
    del data[size:]
    data[:] = bytes(len(data))
    assert rows == [ROW]


@both
def test_nothing_of_the_buffer_is_held_after_an_exception(make: Maker) -> None:
    def decode(field: bytes) -> int:
        raise KeyboardInterrupt

    data = bytearray(SEVEN)
    with pytest.raises(KeyboardInterrupt):
        make((foreign(decode),), LATIN1)(data, 0, len(data), [])
    data += SEVEN


@both
def test_a_buffer_that_python_code_wants_to_resize_meanwhile_is_read_safely(make: Maker) -> None:
    data = bytearray(SEVEN * 100)

    def decode(field: bytes) -> int:
        try:
            data.clear()
        except BufferError:
            return 0
        return 1

    rows: list[Row] = []
    make((foreign(decode),), LATIN1)(data, 0, len(data), rows)
    assert rows == [rows[0]] * 100


# --- what a row is --------------------------------------------------------------------------------------------------


@both
def test_rows_are_made_in_the_class_that_is_asked_for(make: Maker) -> None:
    columns = tuple(Column(name, INTEGER) for name in "ab")
    shape: Any = record_maker(columns)
    data = messages([(1, 2), (3, None)], INTEGER, INTEGER)
    rows: list[Row] = []
    assert make(codecs_of(INTEGER, INTEGER), LATIN1, shape)(data, 0, len(data), rows) == len(data)
    assert [type(row) for row in rows] == [shape, shape]
    first = rows[0]
    assert isinstance(first, Record)
    assert (first["a"], first["b"], first) == (1, 2, (1, 2))
    assert repr(rows[1]) == "<Record a=3 b=None>"
    assert hash(first) == hash((1, 2))
    assert {(1, 2): "found"}[first] == "found"


@both
def test_a_row_that_the_reference_decodes_is_of_that_class_too(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aioifx.codecs.rows.make_decoder", make)
    columns = columns_of(decimal_type(3, 1))
    shape: Any = record_maker(columns)
    decoder = RowDecoder(columns, LATIN1, row_type=shape)
    data = bytearray.fromhex(
        "000e 0000 00000003 c11e19 00000e 0000 00000003 c11e0a 00"
    )  # 30.25: a digit too many
    rows: list[Row] = []
    assert decoder(data, 0, len(data), rows) == len(data)
    assert rows == [(Decimal("30.3"),), (Decimal("30.1"),)]
    assert [type(row) for row in rows] == [shape, shape]
    assert type(decoder.decode_payload(bytes.fromhex("c11e19"))) is shape


@built
@pytest.mark.parametrize(
    "row_type",
    [
        list,
        type("Dictful", (tuple,), {}),
        type("RowPlan", (tuple,), {"__slots__": (), "__new__": lambda cls, row: tuple.__new__(cls, row)}),
        type("Starting", (tuple,), {"__slots__": (), "__init__": lambda self, row: None}),
        tuple[int, ...],
    ],
    ids=lambda row_type: getattr(row_type, "__name__", repr(row_type)),
)
def test_a_class_that_adds_more_than_methods_is_refused(row_type: Any) -> None:
    with pytest.raises(TypeError, match="a row's class must"):
        native.native_decoder(codecs_of(INTEGER), LATIN1, row_type)


@built
@pytest.mark.parametrize("row_type", [tuple, record_maker(columns_of(*TYPES))], ids=["tuple", "Record"])
def test_the_collector_never_sees_rows_of_scalars(row_type: Any) -> None:
    data = messages([ROW, NULLS], *TYPES)
    rows: list[Row] = []
    native.native_decoder(codecs_of(*TYPES), LATIN1, row_type)(data, 0, len(data), rows)
    assert [gc.is_tracked(row) for row in rows] == [False, False]
    assert not any(gc.is_tracked(value) for row in rows for value in row)
    # Only their own class; a Decimal has fields as well in a CPython that was built without libmpdec.
    fields = {type(part) for part in gc.get_referents(Decimal(1))}
    assert {type(part) for value in ROW for part in gc.get_referents(value)} <= {type} | fields


@built
def test_the_collector_sees_a_row_with_a_value_that_it_may_want_to_follow() -> None:
    box: list[object] = []
    rows: list[Row] = []
    native.native_decoder((foreign(lambda field, box=box: box),), LATIN1)(
        bytearray(SEVEN), 0, len(SEVEN), rows
    )
    assert gc.is_tracked(rows[0])

    class Watched:
        pass

    watched = Watched()
    box += [rows.pop(), watched]  # a cycle: the row is in the box that it holds
    gone = weakref.ref(watched)
    del box, watched  # and the function that knew the box is gone with its decoder
    gc.collect()
    assert gone() is None


def test_no_value_of_our_own_refers_to_a_container() -> None:
    # What the kernel relies on when it hides rows from the collector.
    for value in (Datetime(hour=1, minute=2), IntervalYM(1, 2)):
        assert {type(part) for part in gc.get_referents(value)} <= {int, type(None), type}
        assert not hasattr(value, "__dict__")


INTEGRALS = {
    "c1 01 00000000000000": 1,
    "c5 0c22384e5a00000000": 1_234_567_890,
    "80 000000000000000000": 0,
    "3e 630000000000000000": -1,
    "c9 636363636363636363": 10**18 - 1,
    "36 000000000000000001": -(10**18 - 1),
    "c9 010000000000000000": 10**16,
    "ca 010000000000000000": 10**18,  # more than the kernel's own arithmetic holds
    "ff 010000000000000000": 10**124,
    "00 000000000000000000": None,
    "c0 320000000000000000": 1,  # digits after the point are rounded, half up
    "c1 013100000000000000": 1,
}


@both
def test_a_decimal_of_scale_0_is_an_int(make: Maker) -> None:
    columns = columns_of(decimal_type(18, 0), SqlType(TypeCode.MONEY, 18 << 8))
    wanted = Conversions(integral_decimals=True)
    payloads = [bytes.fromhex(field).ljust(10, b"\0") * 2 for field in INTEGRALS]
    data = bytearray(b"".join(b"\0\x0e\0\0" + len(one).to_bytes(4, "big") + one for one in payloads))
    decoder = RowDecoder(columns, LATIN1, conversions=wanted)
    decoder._run = make([field.codec for field in decoder.fields], LATIN1)
    rows: list[Row] = []
    assert decoder(data, 0, len(data), rows) == len(data)
    assert rows == [(value, value) for value in INTEGRALS.values()]
    assert {type(value) for row in rows for value in row} == {int, type(None)}
    assert rows == [RowDecoder(columns, LATIN1, conversions=wanted).decode_payload(one) for one in payloads]


@both
def test_a_decimal_of_another_scale_stays_one(make: Maker) -> None:
    columns = columns_of(decimal_type(8, 2), decimal_type(16))
    codecs = codecs_for(columns, LATIN1, conversions=Conversions(integral_decimals=True))
    assert codecs == codecs_for(columns, LATIN1)


@both
@pytest.mark.parametrize("row_type", [tuple, record_maker(columns_of(INTEGER))], ids=["tuple", "Record"])
def test_a_cycle_through_a_row_that_a_type_codec_made_is_collected(make: Maker, row_type: Any) -> None:
    class Node:
        row: object

    def decoder(value: Any) -> Node:
        return Node()

    conversions = Conversions({"integer": TypeCodec(decoder=decoder)})
    rows: list[Row] = []
    codecs = codecs_for(columns_of(INTEGER), LATIN1, conversions=conversions)
    make(codecs, LATIN1, row_type)(bytearray(SEVEN), 0, len(SEVEN), rows)
    node = rows[0][0]
    node.row = rows.pop()
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None


@both
def test_values_that_rows_share_are_distinguished(make: Maker) -> None:
    # Dates 4096 days apart, and short numbers that differ in scale, sign or exponent alone.
    day = dt.date(2024, 2, 29)
    numbers = [Decimal(text) for text in ("1.5", "-1.5", "15", "150", "0.15", "0", "0.0015", "-1500000")]
    types = (SqlType(TypeCode.DATE, 4), *(decimal_type(16, scale) for scale in (0, 1, 2, 4, 255)))
    rows: list[Row] = []
    for turn in range(3):
        for number in numbers:
            written = [number.quantize(Decimal(1).scaleb(-scale)) for scale in (0, 1, 2, 4)]
            rows.append((day + dt.timedelta(days=4096 * (turn - 1)), *written, number))
    data = messages(rows, *types)
    found: list[Row] = []
    assert make(codecs_of(*types), LATIN1)(data, 0, len(data), found) == len(data)
    assert list(map(repr, found)) == list(map(repr, rows))


# --- memory ---------------------------------------------------------------------------------------------------------


def growth(act: Callable[[], object]) -> float:
    """Bytes that each repetition of *act* leaves behind.

    Only memory allocated below this function counts. Other threads, such as the one that receives messages of xdist,
    allocate at any time. Garbage of earlier tests, whose finalizers may allocate as well, is not collected meanwhile.
    """
    for _ in range(30):
        act()
    gc.collect()
    gc.freeze()
    tracemalloc.start(8)
    try:
        act()
        gc.collect()
        before = _traced()
        for _ in range(50):
            act()
        gc.collect()
        return (_traced() - before) / 50
    finally:
        tracemalloc.stop()


def _traced() -> int:
    here = tracemalloc.Filter(True, growth.__code__.co_filename, all_frames=True)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([here]).traces)


def test_growth_is_that_of_the_function_alone() -> None:
    kept: list[bytes] = []
    assert growth(lambda: kept.append(bytes(17))) > 17
    elsewhere: list[None] = []
    with ThreadPoolExecutor(1) as other:
        assert growth(lambda: other.submit(elsewhere.extend, [None] * 50).result()) < 10
    assert len(elsewhere) == 81 * 50


@pytest.mark.sampled
@both
@pytest.mark.parametrize("code_set", [LATIN1, UTF8, CP1252], ids=lambda code_set: code_set.name)
def test_decoding_again_and_again_leaves_nothing_behind(make: Maker, code_set: CodeSet) -> None:
    shape: Any = record_maker(columns_of(*TYPES))
    codecs = codecs_of(*TYPES, code_set=code_set)
    text: Row = (*ROW[:-1], "\u00e4" * 20)
    data = messages([text, NULLS, text], *TYPES, code_set=code_set)
    broken = data[:-4] + b"\xff\xff\xff\xff"
    broken[8 + 4 + 1] = 9  # sign of the INT8

    def decode() -> None:
        for row_type in (tuple, shape):
            run = make(codecs, code_set, row_type)
            run(data, 0, len(data), [])
            run(broken, 0, len(broken), [])

    gc.collect()
    before = sys.getrefcount(shape)
    assert growth(decode) < 10  # less than an object
    if make is native.native_decoder:
        assert sys.getrefcount(shape) == before


@both
def test_a_fallback_in_the_middle_of_a_row_leaks_nothing(make: Maker) -> None:
    def decode(field: bytes) -> int:
        raise DataError("no")

    codecs = (*codecs_of(VARCHAR20, decimal_type(8, 2)), foreign(decode))
    payload = b"\4name" + bytes.fromhex("c10c22000000"[: 2 * codecs[1].width]) + bytes(4)
    data = bytearray(b"\0\x0e\0\0" + len(payload).to_bytes(4, "big") + payload + b"\0" * (len(payload) & 1))
    run = make(codecs, LATIN1)
    rows: list[Row] = []
    assert growth(lambda: run(data, 0, len(data), rows)) < 10
    assert rows == []


# --- all alike ------------------------------------------------------------------------------------------------------


CHUNKS = [range(first, last) for first, last in pairwise(range(0, 2001, 250))]


@built
@pytest.mark.parametrize("numbers", CHUNKS, ids=lambda numbers: f"{numbers.start}-{numbers.stop}")
def test_any_accident_has_the_same_rows_or_the_same_refusal_from_each(
    numbers: range, is_exhaustive: bool
) -> None:
    # Law (differential): see tests/system/fuzz/differential_rows.py, which runs for as long as requested.
    for number in numbers[:: 1 if is_exhaustive else 10]:
        assert difference(number) is None


def test_the_differential_cases_are_worth_their_time() -> None:
    decoded = [case(number).outcome(native.pure_decoder) for number in range(200)]
    assert sum(isinstance(ending, int) for ending, _ in decoded) > 80
    assert sum(isinstance(ending, tuple) for ending, _ in decoded) > 40
    assert sum(len(rows) for _, rows in decoded) > 200


# --- rows -> bytes --------------------------------------------------------------------------------------------------

make = native.native_row_encoder  # the pure one calls the reference for each row


def never(row: Row) -> bytes:
    raise AssertionError(row)


def choices(number: int) -> bytes:
    choose = random.Random(number)
    return choose.randbytes(choose.choice((20, 100, 400)))


@pytest.mark.parametrize("numbers", CHUNKS, ids=lambda numbers: f"{numbers.start}-{numbers.stop}")
def test_any_rows_are_the_same_bytes_from_each(numbers: range, is_exhaustive: bool) -> None:
    # Law (differential): see tests/system/fuzz/differential_tuples.py, which runs for as long as requested.
    for number in numbers[:: 1 if is_exhaustive else 10]:
        differential_tuples.rows(choices(number))


def test_the_differential_rows_are_worth_their_time() -> None:
    assert sum(differential_tuples.rows(choices(number)) for number in range(200)) > 400


@built
def test_usual_rows_need_no_reference() -> None:
    encode = make(codecs_of(*TYPES), LATIN1, TUPLE_FRAME)
    shape = record_maker(columns_of(*TYPES))(ROW)
    rows = [ROW, NULLS, shape] * 500  # more than the first buffer holds
    assert bytes(encode(iter(rows), never)) == bytes(messages(rows, *TYPES))
    assert bytes(encode([], never)) == b""


@built
def test_a_long_text_finds_room() -> None:
    text = "\u00e4" * 100_001
    lvarchar = SqlType(TypeCode.UDTVAR, 1_000_000, extended_id=1, extended_name="lvarchar")
    for code_set, size in ((LATIN1, 100_001), (UTF8, 200_002)):
        data = bytes(make(codecs_of(lvarchar, code_set=code_set), code_set, TUPLE_FRAME)([(text,)], never))
        assert data[4:13] == (size + 5).to_bytes(4, "big") + b"\0" + size.to_bytes(4, "big")
        assert data[13 : 13 + size] == text.encode(code_set.codec)


@built
def test_rows_are_padded_to_even_in_any_frame() -> None:
    rows: list[Row] = [("a",), ("bc",)]
    frames = {None: b"\1a\2bc\0", Frame(b"\0\x11", b"\0\1"): b"\0\x11\0\0\0\2\0\1\1a\0\x11\0\0\0\3\0\1\2bc\0"}
    for frame, expected in frames.items():
        assert bytes(make(codecs_of(VARCHAR20), LATIN1, frame)(rows, never)) == expected


@built
def test_what_is_handed_back_is_put_where_it_belongs() -> None:
    rows: list[Any] = [(1,), ("x",), (2, 3), (-(2**31),), (2**70,), (), (4,)]
    handed_back: list[Row] = []

    def reference(row: Row) -> bytes:
        handed_back.append(row)
        return b"?"

    data = make(codecs_of(INTEGER), LATIN1, None)(rows, reference)
    assert bytes(data) == b"\0\0\0\1?????\0\0\0\4"
    assert handed_back == rows[1:6]


@built
def test_what_the_source_or_a_codec_raises_gets_out() -> None:
    def source() -> Iterator[Row]:
        yield (1,)
        raise KeyError("source")

    def interrupted(value: Any) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyError, match="source"):
        make(codecs_of(INTEGER), LATIN1, TUPLE_FRAME)(source(), never)
    codec = Codec(Kind.OTHER, 0, 4, bytes, interrupted)
    with pytest.raises(KeyboardInterrupt):
        make((codec,), LATIN1, TUPLE_FRAME)([(1,)], never)


@built
def test_a_codec_that_gives_no_bytes_is_not_believed() -> None:
    four: Any = bytearray(4)
    codec = Codec(Kind.OTHER, 0, 4, bytes, lambda value: four)
    encode = native.native_row_encoder((codec,), LATIN1, None)
    assert bytes(encode([(1,)], lambda row: b"reference")) == b"reference"


@built
def test_a_frame_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="a head of another size"):
        native.native_row_encoder((), LATIN1, Frame(b"12345", b""))


@pytest.mark.sampled
@built
@pytest.mark.parametrize("code_set", [LATIN1, UTF8, CP1252], ids=lambda code_set: code_set.name)
def test_encoding_again_and_again_leaves_nothing_behind(code_set: CodeSet) -> None:
    text: Row = (*ROW[:-1], "\u00e4" * 20)
    rows: list[Any] = [text, NULLS, (1, 2), text, (*ROW[:-1], "\ud800"), (*ROW[:-2], object(), "")]
    codecs = codecs_of(*TYPES, code_set=code_set)

    def encode() -> None:
        make(codecs, code_set, TUPLE_FRAME)(rows, lambda row: b"")

    gc.collect()
    before = sys.getrefcount(text[-1])
    assert growth(encode) < 10
    assert sys.getrefcount(text[-1]) < before + 10  # of 81 runs


@pytest.mark.parametrize("numbers", CHUNKS, ids=lambda numbers: f"{numbers.start}-{numbers.stop}")
def test_any_parameters_are_the_references_from_each(numbers: range, is_exhaustive: bool) -> None:
    # Law (differential): see tests/system/fuzz/differential_params.py, which runs for as long as requested.
    tried = numbers[:: 1 if is_exhaustive else 4]
    encodable = sum(differential_params.parameters(choices(number)) for number in tried)
    assert encodable > len(tried)  # or the cases are not worth their time


@pytest.mark.parametrize(
    "make_params", [pytest.param(native.native_encoder, marks=built), native.pure_encoder]
)
def test_executions_of_very_many_parameters_are_the_references(make_params: Any) -> None:
    types, row, data = [INTEGER] * 32_767, tuple(range(32_767)), bytearray()
    assert make_params(types, UTF8, b"", b"")(iter((row,)), data, 0) == (1, None)
    assert data == ParamEncoder(types, UTF8).encode(row)[2:]


@pytest.mark.exhaustive
def test_rows_of_very_many_columns_are_the_same_from_each(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = columns_of(*[INTEGER, LVARCHAR] * 16_383, INTEGER)
    row = tuple([number if number % 2 else f"text {number}" for number in range(1, 32_768)])
    whole = RowEncoder(columns, UTF8).encode([row, row])
    assert (
        native.pure_row_encoder(
            [field.codec for field in RowEncoder(columns, UTF8).fields], UTF8, TUPLE_FRAME
        )([row, row], RowEncoder(columns, UTF8)._framed)
        == whole
    )
    rows: list[Row] = []
    assert RowDecoder(columns, UTF8)(bytearray(whole), 0, len(whole), rows) == len(whole)
    assert rows == [row, row]
    monkeypatch.setattr("aioifx.codecs.rows.make_decoder", native.pure_decoder)
    assert RowDecoder(columns, UTF8)(bytearray(whole), 0, len(whole), rows) == len(whole)
    assert rows == [row] * 4


# --- numbers that are written in Cython, too ------------------------------------------------------------------------

SPEEDUPS = Path(native.__file__).parents[1] / "_speedups"
from_source = pytest.mark.skipif(
    not (SPEEDUPS / "common.pxd").is_file(), reason="sources are in a clone only"
)


def named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@from_source
@pytest.mark.parametrize(
    ("source", "enum", "prefix"),
    [
        ("common.pxd", "aioifx.codecs.base.Kind", ""),
        ("common.pxd", "aioifx.wire.opcodes.Op", ""),
        ("param_encoder.pyx", "aioifx.codecs.param_plan.PackOp", ""),
        ("column_decoder.pyx", "aioifx.codecs.arrow_layout.Layout", "AS_"),
        ("arrow_encoder.pyx", "aioifx.codecs.arrow_plan.Source", ""),
        ("arrow_encoder.pyx", "aioifx.codecs.arrow_plan.WireForm", ""),
    ],
)
def test_the_kernels_enums_are_those_of_python(source: str, enum: str, prefix: str) -> None:
    text = (SPEEDUPS / source).read_text("utf-8")
    (block,) = re.findall(rf"cdef enum[^#\n]*# {re.escape(enum)}\n((?:    .+\n)+)", text)
    members: dict[str, int] = {}
    number = -1
    for name, value in re.findall(r"\b([A-Z]\w+)(?: = (\d+))?", block):
        number = members[name.removeprefix(prefix)] = int(value) if value else number + 1
    known = {member.name: member.value for member in named(enum)}
    assert len(members) > 5
    assert members.items() <= known.items()


@from_source
def test_each_module_declares_that_it_needs_no_interpreter_lock() -> None:
    """One that does not would turn the lock of a free-threaded build on."""
    sources = [*SPEEDUPS.glob("*.pyx"), *(SPEEDUPS / f"{name}.py" for name in _speedups._FROM_PYTHON)]
    modules = {source.stem: source.read_text("utf-8") for source in sources}
    assert modules.keys() == {*_speedups._KERNELS}
    assert [name for name, text in modules.items() if "freethreading_compatible=True\n" not in text] == []


@from_source
def test_the_kernels_constants_are_those_of_python() -> None:
    text = (SPEEDUPS / "common.pxd").read_text("utf-8")
    constants = re.findall(r"^    ([A-Z_]+) = ([-\d_]+)  # (aioifx\.[\w.]+)$", text, re.MULTILINE)
    assert {name for name, _, _ in constants} >= {"DAY_ZERO", "FIRST_DAY", "LAST_DAY", "MAX_TEXT"}
    for name, value, path in constants:
        assert int(value) == named(path), name
