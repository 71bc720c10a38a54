"""Functions compiled for one shape of rows, each for a whole run at once. Never: an error's words.

Invariants:
1. Generated code never explains. It stops at a row that it does not handle, and codecs/rows.py gives that row to the
   reference, which decodes it or raises.
2. Fields of fixed width that follow each other are one struct call, which also reads the next field's head. Rows of
   only such fields are one call for a whole window.
3. Offsets only grow, so one comparison at the end of a row proves that every field was within it.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from aioifx.codecs.base import ENVELOPE_HEAD, VARCHAR_HEAD, Codec, Kind
from aioifx.codecs.numbers import FLOAT, INT8, SMALLFLOAT
from aioifx.codecs.temporal import date_of, datetime_decoder, highest_pair
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import whole_size
from aioifx.errors import DataError
from aioifx.sqltypes import Qualifier, Row, SqlType, TypeCode, Unit, datetime_qualifier
from aioifx.wire.tuples import TUPLE, TUPLE_HEAD

DecodeRun: TypeAlias = Callable[[bytearray, int, int, list[Row]], int]
"""Buffer, position, end, rows -> the position after the last message that was decoded; a row was appended for each.

It stops, without an error, before a message that is not SQ_TUPLE, is incomplete or needs the reference.
"""

DecodeWindow: TypeAlias = Callable[..., int]
"""A window that begins with a tuple, rows, their class -> how many bytes of the window were decoded."""

FALLBACK_ERRORS: Final = (struct.error, ValueError, LookupError, ArithmeticError, TypeError, DataError)

_CACHE_LIMIT: Final = 20_000

_FIRST_WINDOW: Final = 8 * 1024
_WIDEST_WINDOW: Final = 512 * 1024


class _Cache(dict[Any, Any]):
    """The results of a function, cached for its first arguments."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Any], Any], known: dict[Any, Any]) -> None:
        super().__init__(known)
        self.make = make

    def __missing__(self, key: Any) -> Any:
        value = self.make(key)
        if len(self) < _CACHE_LIMIT:
            self[key] = value
        return value


_NULLS: Final = {Kind.SMALLINT: -(1 << 15), Kind.INTEGER: -(1 << 31), Kind.BIGINT: -(1 << 63)}
_FORMATS: Final = {
    Kind.SMALLINT: "h",
    Kind.INTEGER: "i",
    Kind.BIGINT: "q",
    Kind.SMALLFLOAT: "f",
    Kind.FLOAT: "d",
    Kind.DATE: "i",
}

_DATES: Final = _Cache(date_of, {-(1 << 31): None})
_YEARS: Final = {high << 8 | low: high * 100 + low for high in range(100) for low in range(100)}

# A BOOLEAN with its envelope. NULL is a byte shorter, so its key includes the byte after it.
_BOOLEANS: Final = {
    **{b"\0\0\0\0\1%c" % letter: True for letter in b"tT\1"},
    **{b"\0\0\0\0\1%c" % letter: False for letter in b"fF\0"},
    **{b"\1\0\0\0\0%c" % byte: None for byte in range(256)},
    b"\1\0\0\0\0": None,
}


def _clock(number: int) -> dt.time | None:
    """The four bytes of a DATETIME HOUR TO SECOND; a column has few different times."""
    if number >> 24 == _CLOCK_HEAD:
        return dt.time(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)
    value: dt.time | None = _decode_clock(number.to_bytes(4, "big"))
    return value


_CLOCK: Final = datetime_qualifier(Unit.HOUR, Unit.SECOND)
_CLOCK_HEAD: Final = 0xC0 + highest_pair(_CLOCK)
_decode_clock: Final = datetime_decoder(SqlType(TypeCode.DATETIME, _CLOCK.encoded))
_CLOCKS: Final = _Cache(_clock, {})


class _Decoder:
    """Collects the lines of one decoding function.

    A *run* is a stretch of fixed fields; `base` is the expression of its first offset, `at` the offset within it.
    """

    def __init__(self, codecs: Sequence[Codec], code_set: CodeSet, *, plain: bool) -> None:
        self.plain = plain
        self.whole_text = code_set.codec == "latin-1"
        self.as_text = self.whole_text or code_set.keeps_ascii
        self.names: dict[str, Any] = {
            "FallbackErrors": FALLBACK_ERRORS,
            "datetime": dt.datetime,
            "time": dt.time,
            "DATES": _DATES,
            "YEARS": _YEARS,
            "CLOCKS": _CLOCKS,
            "BOOLEANS": _BOOLEANS,
            "int8": INT8.decode,
            "single": SMALLFLOAT.decode,
            "double": FLOAT.decode,
            "in_code_set": code_set.decode,
        }
        self.body: list[str] = []
        self.values: list[str] = []
        self.format = ">hxxi"
        self.targets = ["tag", "size"]
        self.base = "pos"
        self.at = TUPLE_HEAD
        for index, codec in enumerate(codecs):
            if codec.head:
                self._variable(index, codec)
            else:
                self._fixed(index, codec)

    def source(self) -> str:
        """The function, as text."""
        row = f"({''.join(f'{value}, ' for value in self.values)})"
        append = f"append({row if self.plain else f'Row({row})'})"
        loop = self._loop_over_fixed(append) if self.base == "pos" else self._loop(append)
        lines = [
            "def run(data, rows, Row=tuple):",
            "    append = rows.append",
            "    end = len(data)",
            "    pos = 0",
            *(["    text = data.decode('latin-1')"] if self.as_text else []),
            "    try:",
            *(f"        {line}" for line in loop),
            "    except FallbackErrors:",
            "        pass",
            "    return pos",
        ]
        return "\n".join(lines)

    def _loop(self, append: str) -> list[str]:
        tail = self.at
        self._end_run()
        return [
            "while pos < end:",
            *(f"    {line}" for line in self.body),
            f"    if {self.base} - pos + {tail - TUPLE_HEAD} != size:",
            "        break",
            f"    {append}",
            "    pos = after",
        ]

    def _loop_over_fixed(self, append: str) -> list[str]:
        """All rows have the same size; bytes after the last whole one are left."""
        size = self.at - TUPLE_HEAD
        whole = self.at + (size & 1)
        self.names["unpack"] = struct.Struct(self.format + "x" * (size & 1)).iter_unpack
        return [
            f"for {', '.join(self.targets)}, in unpack(data[:end // {whole} * {whole}]):",
            f"    if tag != {TUPLE} or size != {size}:",
            "        break",
            f"    {append}",
            f"    pos += {whole}",
        ]

    def _end_run(self) -> None:
        """Emit the struct call of the run; the first one is followed by the check of the frame."""
        first = self.base == "pos"
        if self.format == ">B":  # a third of the time that a call takes
            self.body.append(f"{self.targets[0]} = data[{self.base}]")
        elif self.targets:
            unpack = f"unpack{len(self.body)}"
            self.names[unpack] = struct.Struct(self.format).unpack_from
            self.body.append(f"{', '.join(self.targets)}, = {unpack}(data, {self.base})")
        if first:
            self.body += [
                "after = pos + (size + 9 & -2)",
                f"if tag != {TUPLE} or after > end:",
                "    break",
            ]
        self.format, self.targets = ">", []

    def _fixed(self, index: int, codec: Codec) -> None:
        start, stop = self._here(), self._here(codec.width)
        name = f"v{index}"
        match codec.kind:
            case Kind.SMALLINT | Kind.INTEGER | Kind.BIGINT:
                self._take(_FORMATS[codec.kind], name)
                value = f"None if {name} == {_NULLS[codec.kind]} else {name}"
            case Kind.SMALLFLOAT | Kind.FLOAT:
                self._take(_FORMATS[codec.kind], name)
                nan = "single" if codec.kind == Kind.SMALLFLOAT else "double"
                value = f"{name} if {name} == {name} else {nan}(data[{start}:{stop}])"
            case Kind.DATE:
                self._take("i", name)
                value = f"DATES[{name}]"
            case Kind.INT8:
                sign, high = f"s{index}", f"h{index}"
                self._take("hII", sign, name, high)
                value = (
                    f"({name} + ({high} << 32)) * {sign} if {sign} and -2 < {sign} < 2 "
                    f"else int8(data[{start}:{stop}])"
                )
            case Kind.DATETIME:
                value = self._moment(index, codec, start, stop)
            case Kind.CHAR if self.as_text and codec.width:
                self._take(f"B{codec.width - 1}x", name)
                value = self._char(index, codec, f"{start}:{stop}")
            case _:
                self._take(f"{codec.width}s", name)
                self.names[f"decode{index}"] = codec.decode
                value = f"decode{index}({name})"
        self.values.append(value)
        self.at += codec.width

    def _char(self, index: int, codec: Codec, field: str) -> str:
        """CHAR: NULL begins with NUL."""
        name = f"c{index}"
        strip = ".rstrip(' ')" if codec.detail else ""
        if self.whole_text:
            return f"text[{field}]{strip} if v{index} else None"
        self.names[f"decode{index}"] = codec.decode
        common = f"{name}{strip} if ({name} := text[{field}]).isascii() else decode{index}(data[{field}])"
        return f"None if not v{index} else {common}"

    def _moment(self, index: int, codec: Codec, start: str, stop: str) -> str:
        """DATETIME: two common families inline, unless leading pairs were left out; others by the codec."""
        qualifier = Qualifier.from_encoded(codec.detail)
        self.names[f"decode{index}"] = codec.decode
        inline = {Unit.YEAR: ("datetime", "H"), Unit.HOUR: ("time", "B")}.get(qualifier.first)
        if qualifier == _CLOCK:
            self._take("I", f"v{index}")
            return f"CLOCKS[v{index}]"
        if inline is None or qualifier.last < Unit.SECOND:
            self._take(f"{codec.width}s", f"v{index}")
            return f"decode{index}(v{index})"
        maker, lead = inline
        names = [f"{letter}{index}" for letter in ("ymdhns" if maker == "datetime" else "hns")]
        # FRACTION has one to three pairs; two are read in one piece, and checked, as a year is.
        first, last = f"f{index}", f"g{index}"
        form, pairs, micro, valid = (
            ("", (), "", ""),
            ("B", (last,), f"{last} * 10_000", f" and {last} < 100"),
            ("H", (first,), f"YEARS[{first}] * 100", ""),
            ("HB", (first, last), f"YEARS[{first}] * 100 + {last}", f" and {last} < 100"),
        )[(qualifier.scale + 1) // 2]
        self._take(f"B{lead}{'B' * (len(names) - 1)}{form}", f"e{index}", *names, *pairs)
        values = ([f"YEARS[{names[0]}]", *names[1:]]) if maker == "datetime" else names
        if micro:
            values = [*values, micro]
        if codec.zone is not None and maker == "datetime":
            self.names[f"zone{index}"] = codec.zone
            values = [*values, f"tzinfo=zone{index}"]
        head = 0xC0 + highest_pair(qualifier)
        return f"{maker}({', '.join(values)}) if e{index} == {head}{valid} else decode{index}(data[{start}:{stop}])"

    def _variable(self, index: int, codec: Codec) -> None:
        size, null = f"n{index}", f"k{index}"
        if codec.kind == Kind.BOOLEAN:
            self._boolean(index)
            return
        if codec.head == ENVELOPE_HEAD:
            self._take("BI", null, size)
        else:
            self._take("B" if codec.head == VARCHAR_HEAD else "H", size)
        head = self.at
        base, start = self.base, self._here(codec.head)
        self.at += codec.head
        self._end_run()
        self.base, self.at = f"p{index}", 0
        self.body += [f"o{index} = {start}", f"p{index} = o{index} + {size}"]
        field = f"o{index}:p{index}"
        match codec.kind:
            case Kind.VARCHAR:
                value = f"None if {size} == 1 and not data[o{index}] else {self._text(index, field)}"
            case Kind.LVARCHAR:
                value = f"None if {null} else {self._text(index, field)}"
            case _:
                self.names[f"decode{index}"] = codec.decode
                value = f"decode{index}(data[{base} + {head}:p{index}])"
        self.values.append(value)

    def _boolean(self, index: int) -> None:
        """BOOLEAN: one look-up by envelope and letter, instead of a struct call for its head."""
        start = self._here()
        self._end_run()
        self.base, self.at = f"p{index}", 0
        self.body += [
            f"o{index} = {start}",
            f"v{index} = BOOLEANS[data[o{index}:o{index} + 6]]",
            f"p{index} = o{index} + (5 if v{index} is None else 6)",
        ]
        self.values.append(f"v{index}")

    def _text(self, index: int, field: str) -> str:
        if self.whole_text:
            return f"text[{field}]"
        slow = f"in_code_set(data[{field}])"
        return f"c{index} if (c{index} := text[{field}]).isascii() else {slow}" if self.as_text else slow

    def _take(self, format: str, *targets: str) -> None:
        self.format += format
        self.targets += targets

    def _here(self, further: int = 0) -> str:
        at = self.at + further
        return f"{self.base} + {at}" if at else self.base


def _compiled(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    # The source comes from our own tables; nothing of the server's is in it.
    exec(compile(source, "<aioifx rows>", "exec"), names)
    run: Callable[..., Any] = names["run"]
    return run


@lru_cache(maxsize=512)
def decode_run_for(codecs: tuple[Codec, ...], code_set: CodeSet, *, plain: bool = True) -> DecodeWindow:
    """The decoding function for rows of these codecs; *plain* ones are tuples and of no other class."""
    decoder = _Decoder(codecs, code_set, plain=plain)
    return _compiled(decoder.source(), decoder.names)


def make_decoder(codecs: tuple[Codec, ...], code_set: CodeSet, row_type: type[Row] = tuple) -> DecodeRun:
    """The decoder in Python: a function compiled for the shape decodes copies of the buffer, window by window."""
    decode = decode_run_for(codecs, code_set, plain=row_type is tuple)

    def run(data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        window = _FIRST_WINDOW
        while pos < end:
            taken = decode(bytes(data[pos : min(end, pos + window)]), rows, row_type)
            if taken:
                pos += taken
                window = min(window * 4, _WIDEST_WINDOW)
            elif window < (whole := whole_size(data, pos, end)):
                window = whole
            else:
                break
        return pos

    return run
