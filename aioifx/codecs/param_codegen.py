"""Functions compiled for one shape of parameters, each for many executions at once. Never: an error's words.

Invariants:
1. Generated code never explains. It stops at a row that it does not handle and returns that row; codecs/params.py, the
   reference, encodes it or raises. The two agree on every row (tested).
2. A shape is the classes of a row's values. A row with at most one field of variable size is one struct call. Constant
   bytes are part of it, so a NULL costs nothing. A run has rows of one shape; single rows of others may be among them.
3. A row is in the buffer as a whole, or not at all.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from operator import length_hint
from types import CodeType
from typing import Any, Final, TypeAlias

from aioifx.codecs.base100 import MAX_PAIRS, Number, pack, pairs_of
from aioifx.codecs.bind_values import Binder
from aioifx.codecs.conversions import Adapters, with_adapters
from aioifx.codecs.param_plan import PackOp, PackRule, rules_for
from aioifx.codecs.temporal import DAY_ZERO, common_clock, common_moment
from aioifx.codecs.text import CodeSet
from aioifx.codecs.type_text import may_be_large
from aioifx.sqltypes import SqlType, TypeCode, Value

EncodeResult: TypeAlias = tuple[int, tuple[Any] | None]
"""How many rows were encoded, and the next one if the reference must encode it."""

EncodeParamRows: TypeAlias = Callable[[Iterator[Sequence[Value]], bytearray, int], EncodeResult]
"""Appends ``head · entries · tail`` to the buffer for each row.

It stops when the buffer has as many bytes as the limit, at a row that needs the reference, and at the end. No row is
read before there is room for it. Errors of the iterator propagate."""

Shape: TypeAlias = tuple[type[object], ...]

WORTHWHILE: Final = 100
"""Rows of one shape that the reference encodes in about the time that compiling takes."""

MAX_SHAPES: Final = 64
"""The most shapes that are compiled for one list of parameters."""

MAX_SEEN: Final = 1024
"""The most shapes that are counted for it."""

_MAX_SIZES: Final = 1024
"""The most sizes of one field whose struct calls are cached."""


class _BySize(dict[int, Callable[..., bytes]]):
    """The struct calls of a stretch with one variable field, by the size of that field."""

    __slots__ = ("_prefix", "_suffix")

    def __init__(self, prefix: str, suffix: str) -> None:
        super().__init__()
        self._prefix, self._suffix = prefix, suffix

    def __missing__(self, size: int) -> Callable[..., bytes]:
        pack = struct.Struct(f">{self._prefix}{size + (size & 1)}s{self._suffix}").pack
        if len(self) < _MAX_SIZES:
            self[size] = pack
        return pack


_WALK: Final = ("__iter__", "__len__")
_AS_TUPLES: Final[list[object]] = [getattr(tuple, name) for name in _WALK]


def _is_plain(kind: type[object]) -> bool:
    """Whether rows of a class are lists, tuples, or subclasses of tuple that iterate as it does, such as records."""
    if kind is tuple or kind is list:
        return True
    walk = [getattr(kind, name, None) for name in _WALK]
    return issubclass(kind, tuple) and walk == _AS_TUPLES


def _refuse(value: Value) -> Any:
    raise ValueError


def _clock(value: dt.time) -> bytes:
    data = None if value.microsecond else common_clock(value, 1_000_000)
    clock: bytes = data[:4] if data else _refuse(value)
    return clock


_NUMBER_HEAD: Final = struct.Struct(">4shH")


def _number(rule: PackRule) -> Binder:
    """A binder that is fast for numbers without exponent other than zero, from their digits as text."""
    head, limit, bind, pack_head = rule.head, rule.limit, rule.bind, _NUMBER_HEAD.pack
    is_money = head[1] == TypeCode.MONEY

    def entry(value: Value) -> bytes:
        text = str(value)
        negative = text[0] == "-"
        whole, _, fraction = text[negative:].partition(".")
        size, scale = len(whole), len(fraction)
        pairs = pairs_of(f"{'0' if size & 1 else ''}{whole}{fraction}{'0' if scale & 1 else ''}")
        short = pairs.lstrip(b"\0")
        if not short or len(short) > MAX_PAIRS or size > limit:
            return bind(value)
        exponent = (size + 1 >> 1) - len(pairs) + len(short)
        number = pack(Number(True, exponent, short)) if negative else b"%c%b" % (exponent + 0xC0, short)
        data = pack_head(head, 0 if is_money else scale, len(number)) + number
        return data + b"\0" if len(number) & 1 else data

    def checked(value: Value) -> bytes:
        try:
            return entry(value)
        except ValueError:  # an exponent, or not a number
            return bind(value)

    return checked


_STRUCT_FORMATS: Final = {
    PackOp.SMALL: "h",
    PackOp.INT: "i",
    PackOp.LONG: "q",
    PackOp.DOUBLE: "d",
    PackOp.SINGLE: "f",
    PackOp.WHOLE: "d",
}


class _ShapeCompiler:
    """The function of one shape, without head and tail.

    It is collected piece by piece: constant bytes, fixed fields, variable fields; a stretch ends before its
    second variable field.
    """

    def __init__(self, rules: Sequence[PackRule], shape: Shape, code_set: CodeSet) -> None:
        self._names: dict[str, Any] = {
            "refuse": _refuse,
            "moment": common_moment,
            "clock": _clock,
            "is_plain": _is_plain,
            "CODEC": code_set.codec,
            "ERRORS": code_set.errors_in_writing,
        }
        self._constants = [b""]
        self._stretches: list[list[int | str | None]] = [[0]]
        self._lines: list[str] = []
        self._calls: list[str] = []
        self._values = ["C0"]
        self._size = ""
        for index, (rule, kind) in enumerate(zip(rules, shape, strict=True)):
            self._names[f"K{index}"] = kind
            self._add(index, f"v{index}", rule)
        self._end()
        self._code: CodeType = compile(self._source(len(rules)), "<aioifx parameters>", "exec")

    def compiled(
        self, head: bytes, tail: bytes, packs: dict[Shape, Callable[..., bytes]]
    ) -> tuple[EncodeParamRows, Callable[..., bytes]]:
        """The functions for runs and for single rows, with the bytes that executions begin and end with.

        Args:
            packs: the functions for single rows, by shape; a run calls them for rows of another shape.
        """
        constants = [*self._constants]
        constants[0] = head + constants[0]
        constants[-1] += tail
        names: dict[str, Any] = self._names | {
            f"C{index}": constant for index, constant in enumerate(constants)
        }
        names["PACKS"] = packs
        for number, stretch in enumerate(self._stretches):
            formats = [f"{len(constants[piece])}s" if isinstance(piece, int) else piece for piece in stretch]
            if None in formats:
                cut = formats.index(None)
                prefix, suffix = "".join(filter(None, formats[:cut])), "".join(filter(None, formats[cut:]))
                names[f"P{number}"] = _BySize(prefix, suffix)
            else:
                names[f"P{number}"] = struct.Struct(">" + "".join(filter(None, formats))).pack
        exec(self._code, names)  # from our own tables; nothing of the server's or the caller's is in it
        return names["run"], names["pack"]

    def _source(self, count: int) -> str:
        checks = " or ".join(f"v{index}.__class__ is not K{index}" for index in range(count)) or "False"
        values = f"({''.join(f'v{index}, ' for index in range(count))})"
        entries = " + ".join(self._calls)
        lines = [
            "def pack(row):",
            f"    {values} = row",
            *(f"    {line}" for line in self._lines),
            f"    return {entries}",
            "def run(rows, out, limit):",
            "    count = 0",
            "    odd = None",
            "    plain = tuple",
            "    for row in rows:",
            "        kind = type(row)",
            "        if kind is not plain:",
            "            if not is_plain(kind):",
            "                return count, (row,)",
            "            plain = kind",
            "        try:",
            f"            {values} = row",
            f"            if {checks}:",
            "                other = PACKS.get(tuple(map(type, row)))",
            "                if other is None or other is odd:",
            "                    return count, (row,)",
            "                out += other(row)",
            "                odd = other",
            "            else:",
            *(f"                {line}" for line in self._lines),
            f"                out += {entries}",
            "                odd = None",
            "        except Exception:",
            "            return count, (row,)",
            "        count += 1",
            "        if len(out) >= limit:",
            "            break",
            "    return count, None",
        ]
        return "\n".join(lines)

    def _constant(self, data: bytes) -> None:
        """More constant bytes, after those that end the stretch so far or after its last field."""
        stretch = self._stretches[-1]
        if not isinstance(stretch[-1], int):
            stretch.append(len(self._constants))
            self._values.append(f"C{len(self._constants)}")
            self._constants.append(b"")
        self._constants[-1] += data

    def _fixed(self, head: bytes, format: str, *values: str) -> None:
        self._constant(head)
        self._stretches[-1].append(format)
        self._values += values

    def _variable(self, head: bytes, format: str, size: str, *values: str) -> None:
        """A field, and its length before it if *format* includes one."""
        if self._size:
            self._end()
            self._stretches.append([len(self._constants)])
            self._values = [f"C{len(self._constants)}"]
            self._constants.append(b"")
        self._constant(head)
        self._stretches[-1] += [format, None]
        self._values += values
        self._size = size

    def _end(self) -> None:
        self._constant(b"")
        name = f"P{len(self._calls)}"
        self._calls.append(f"{name}{f'[{self._size}]' if self._size else ''}({', '.join(self._values)})")
        self._size = ""

    def _add(self, index: int, value: str, rule: PackRule) -> None:
        op, head = rule.op, rule.head
        match op:
            case PackOp.CONSTANT:
                self._constant(head)
            case PackOp.SMALL | PackOp.INT | PackOp.LONG:
                checked = f"{value} if {value} != {-rule.limit} else refuse({value})"
                self._fixed(head, _STRUCT_FORMATS[op], checked)
            case PackOp.SPLIT:
                self._lines += [
                    f"a{index} = abs({value})",
                    f"if a{index} >= {rule.limit}: refuse({value})",
                ]
                sign = f"-1 if {value} < 0 else 1"
                self._fixed(head, "hII", sign, f"a{index} & {0xFFFF_FFFF}", f"a{index} >> 32")
            case PackOp.DOUBLE | PackOp.SINGLE:
                self._fixed(head, _STRUCT_FORMATS[op], f"{value} if {value} == {value} else refuse({value})")
            case PackOp.WHOLE:
                checked = f"{value} if {-rule.limit} < {value} < {rule.limit} else refuse({value})"
                self._fixed(head, "d", checked)
            case PackOp.DAY:
                self._fixed(head, "i", f"{value}.toordinal() - {DAY_ZERO}")
            case PackOp.MOMENT:
                self._fixed(head, "12s", f"moment({value}, {rule.limit})")
            case PackOp.CLOCK:
                self._fixed(head, "4s", f"clock({value})")
            case PackOp.TRUTH:
                self._names[f"t{index}"], self._names[f"u{index}"] = head, rule.other
                self._fixed(b"", f"{len(head)}s", f"t{index} if {value} else u{index}")
            case PackOp.SHORT_TEXT | PackOp.LONG_TEXT:
                self._text(index, value, rule)
            case PackOp.NUMBER | PackOp.OTHER:
                self._names[f"bind{index}"] = _number(rule) if op == PackOp.NUMBER else rule.bind
                self._lines.append(f"f{index} = bind{index}({value})")
                self._variable(b"", "", f"len(f{index})", f"f{index}")

    def _text(self, index: int, value: str, rule: PackRule) -> None:
        errors = "" if self._names["ERRORS"] == "strict" else ", ERRORS"
        field, size = f"f{index}", f"n{index}"
        refused = f"{size} > {rule.limit}" + (f" or {size} and not {field}[0]" if rule.refuses_nul else "")
        self._lines += [
            f"{field} = {value}.encode(CODEC{errors})",
            f"{size} = len({field})",
            f"if {refused}: refuse({value})",
        ]
        self._variable(rule.head, "H" if rule.op == PackOp.SHORT_TEXT else "I", size, size, field)


class _ShapeCache:
    """The functions that were compiled for one list of parameters."""

    __slots__ = ("_code_set", "_pairs", "_seen", "found")

    def __init__(self, types: tuple[SqlType | None, ...], code_set: CodeSet, adapters: Adapters) -> None:
        self._pairs = with_adapters(types, adapters)
        self._code_set = code_set
        self._seen: dict[Shape, int] = {}
        self.found: dict[Shape, _ShapeCompiler] = {}

    def find(self, shape: Shape, eager: bool) -> _ShapeCompiler | None:
        """The compiler of a shape that is frequent, or is expected to be; else None."""
        compiler = self.found.get(shape)
        if compiler is not None or len(self.found) >= MAX_SHAPES:
            return compiler
        seen = self._seen.pop(shape, 0)
        if seen < WORTHWHILE and not eager:
            if len(self._seen) >= MAX_SEEN:
                self._seen.clear()  # with so many, few are frequent
            self._seen[shape] = seen + 1
            return None
        pairs = zip(self._pairs, shape, strict=True)
        rules = [
            rules_for(sql_type, self._code_set, adapter).for_class(kind)
            for (sql_type, adapter), kind in pairs
        ]
        compiler = self.found[shape] = _ShapeCompiler(rules, shape, self._code_set)
        return compiler


_shape_cache_for = lru_cache(maxsize=512)(_ShapeCache)


class GeneratedParamEncoder:
    """Encodes executions of one statement, whatever shapes its rows have; an EncodeParamRows."""

    __slots__ = ("_count", "_head", "_last", "_packs", "_runs", "_shapes", "_tail")

    def __init__(
        self,
        types: tuple[SqlType | None, ...],
        code_set: CodeSet,
        head: bytes,
        tail: bytes,
        adapters: Adapters = (),
    ) -> None:
        make = _ShapeCache if any(map(may_be_large, types)) else _shape_cache_for
        self._shapes = make(types, code_set, adapters)
        self._count = len(types)
        self._head, self._tail = head, tail
        self._runs: dict[Shape, EncodeParamRows] = {}
        self._packs: dict[Shape, Callable[..., bytes]] = {}
        self._last: EncodeParamRows | None = None

    def __call__(self, rows: Iterator[Sequence[Value]], out: bytearray, limit: int) -> EncodeResult:
        """See EncodeParamRows."""
        run, total = self._last, 0
        left: tuple[Any] | None = None
        if run is None:
            for row in islice(rows, 1):
                left = (row,)
        else:
            total, left = run(rows, out, limit)
        while left is not None:
            other = self._run_for(left[0], length_hint(rows))
            if other is None or other is run:  # it has the shape, so one of its values needs the reference
                break
            run = self._last = other
            taken, left = run(chain(left, rows), out, limit)
            total += taken
        return total, left

    def _run_for(self, row: tuple[Value, ...], more: int) -> EncodeParamRows | None:
        """The function for rows of the shape of *row*; None if there is none yet."""
        if not _is_plain(type(row)) or len(row) != self._count:
            return None
        shape = tuple(map(type, row))
        run = self._runs.get(shape)
        if run is None:
            # The more shapes there are, the fewer of the next rows are likely to have this one.
            compiler = self._shapes.find(shape, more >> len(self._runs) >= WORTHWHILE)
            if compiler is not None:
                run, self._packs[shape] = compiler.compiled(self._head, self._tail, self._packs)
                self._runs[shape] = run
        return run
