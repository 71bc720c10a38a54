"""Conversions that users choose: type codecs, adapters, whole decimals as int. Never: bytes.

Invariants:
1. NULL is None. Codecs and adapters never get it.
2. An exception of a user's function is the cause of a DataError, which names the type of the function and no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, TypeAlias, cast

from aioifx.codecs.time_zones import in_zone
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Datetime, IntervalYM, SqlType, TypeCode, Value

Convert: TypeAlias = Callable[[Any], Any]
"""A value -> another one; never called with None."""


class TypeCodec(NamedTuple):
    """The two functions for the values of one Informix type, as the option *type_codecs* takes them; a named tuple.

    Attributes:
        encoder: a parameter for the type -> a value that the type accepts. None: parameters are unchanged.
        decoder: a value of the type, as decoded by default -> the value in rows. None: values are unchanged.
    """

    encoder: Convert | None = None
    decoder: Convert | None = None


TypeCodecs: TypeAlias = Mapping[str, TypeCodec | tuple[Convert | None, Convert | None]]
"""By the name of an Informix type."""


def _value_of(member: Enum) -> Value:
    return member.value


ACCEPTED: Final = frozenset(
    (bool, int, float, Decimal, str, bytes, bytearray, date, datetime, time, timedelta, Datetime, IntervalYM)
)
"""Classes whose values, and those of their subclasses, are encoded without an adapter."""

_STANDARD: Final[Mapping[type[object], Convert | None]] = {
    **dict.fromkeys(ACCEPTED),
    Enum: _value_of,
}

_MAX_CHAIN: Final = 4
"""Adapters that follow each other: an Enum of UUIDs needs two."""


class Adapter:
    """Converts a caller's value to one that a type accepts.

    The nearest class in the value's method resolution order decides: an adapter's, or one of ACCEPTED.

    Args:
        adapters: by class.
        encoder: of the type named *name*; it is called first.
        zone: of aware datetimes, which are converted last.
    """

    def __init__(
        self,
        adapters: Mapping[type[Any], Convert],
        encoder: Convert | None = None,
        name: str = "",
        zone: tzinfo | None = None,
    ) -> None:
        self._known = {**_STANDARD, **adapters}
        self._encoder = encoder
        self._name = name
        self._zone = zone
        is_plain = encoder is None and not adapters
        self.is_standard = is_plain and zone is None
        """Whether there are no conversions."""
        self.only_zone = zone if is_plain else None
        """The zone, if aware datetimes are all that is converted."""
        kinds = ACCEPTED - adapters.keys() if encoder is None else frozenset[type[object]]()
        if zone is not None:
            kinds -= {datetime}
        self.as_is = kinds | {type(None)}
        """Classes whose own values, not those of subclasses, are unchanged."""

    def __call__(self, value: Value) -> Value:
        """The converted value. A value of an unknown class is unchanged, and the type refuses it."""
        if value is None:
            return None
        if self._encoder is not None:
            value = called(self._encoder, value, f"the encoder of {self._name}")
        for _ in range(_MAX_CHAIN):
            kind = type(cast("object", value))
            convert = self._found(kind)
            if convert is None:
                break
            value = called(convert, value, f"the adapter of {kind.__name__}")
            if type(value) is kind:
                break
        if self._zone is not None and isinstance(value, datetime) and value.tzinfo is not None:
            return in_zone(value, self._zone)
        return value

    def _found(self, kind: type[object]) -> Convert | None:
        known = self._known
        for base in kind.__mro__:
            if base in known:
                return known[base]
            # By name: importing it takes milliseconds.
            if base.__module__ == "uuid" and base.__name__ == "UUID":
                return str
        return None


def called(function: Convert, value: Value, what: str) -> Any:
    """The result of a user's function; *what* names it in the DataError for an exception."""
    try:
        return function(value)
    except Exception as error:
        raise DataError(f"{what} raised {type(error).__name__}") from error


STANDARD: Final = Adapter({})
"""UUID as text, Enum by value."""

Adapters: TypeAlias = tuple[Adapter, ...]
"""One for each parameter or column; empty where each is STANDARD."""


def with_adapters(
    types: Sequence[SqlType | None], adapters: Adapters
) -> list[tuple[SqlType | None, Adapter]]:
    """Each type and its adapter."""
    return [*zip(types, adapters or (STANDARD,) * len(types), strict=True)]


JsonLoads: TypeAlias = Callable[[str], Any]
"""The text of JSON -> an object."""

JsonDumps: TypeAlias = Callable[[Any], str | bytes]
"""An object -> the text of JSON, as str or in UTF-8."""


class JsonFunctions(NamedTuple):
    """The functions between JSON text and Python objects; the default refuses NaN."""

    loads: JsonLoads = json.loads
    dumps: JsonDumps = partial(json.dumps, allow_nan=False)


class Conversions:
    """The conversions of a connection. Immutable; compared by identity.

    Args:
        codecs: by the type's name, as `type_name` spells it.
        adapters: by class.
        integral_decimals: whether DECIMAL and MONEY of scale 0 are decoded as int.
        json: for JSON. None: JSON, BSON, rows and collections stay text or bytes, as the server sends them.
        dbdate: the form of dates in literals.
        zone: of DATETIMEs, whose values are then aware.
    """

    def __init__(
        self,
        codecs: Mapping[str, TypeCodec] | None = None,
        adapters: Mapping[type[Any], Convert] | None = None,
        *,
        integral_decimals: bool = False,
        json: JsonFunctions | None = None,
        dbdate: str = "",
        zone: tzinfo | None = None,
    ) -> None:
        self._codecs = dict(codecs or {})
        self._adapters = dict(adapters or {})
        self.integral_decimals = integral_decimals
        self.json = json
        self.dbdate = dbdate
        self.zone = zone
        self.known_codecs: dict[object, dict[SqlType, Any]] = {}
        """The codecs of columns with these conversions, by the other options of `registry.codecs_for`. A cache."""
        self._plain = Adapter(self._adapters, zone=zone) if self._adapters or zone is not None else STANDARD
        self._by_codec = {
            name: Adapter(self._adapters, codec.encoder, name, zone) if codec.encoder else self._plain
            for name, codec in self._codecs.items()
        }

    def with_codec(self, name: str, codec: TypeCodec) -> Conversions:
        """A copy with another codec for one type; an empty codec removes it."""
        codecs = {**self._codecs, name: codec}
        if codec == TypeCodec():
            del codecs[name]
        return Conversions(
            codecs,
            self._adapters,
            integral_decimals=self.integral_decimals,
            json=self.json,
            dbdate=self.dbdate,
            zone=self.zone,
        )

    @cached_property
    def of_zone(self) -> Conversions:
        """Those of *zone* alone. One object, since it has a cache of its own."""
        return PLAIN if self.zone is None else Conversions(zone=self.zone)

    @property
    def takes_aware(self) -> bool:
        """Whether an aware datetime may be stored: by the option timezone, or after a function of the user."""
        has_encoder = any(codec.encoder for codec in self._codecs.values())
        return self.zone is not None or has_encoder or datetime in self._adapters

    def adapter_for(self, sql_type: SqlType | None) -> Adapter:
        """The adapter of parameters of this type; None if the server did not describe it."""
        if not self._codecs or sql_type is None:
            return self._plain
        name = self._name_of(sql_type)
        return self._plain if name is None else self._by_codec[name]

    def decoder_for(self, sql_type: SqlType) -> Convert | None:
        """The user's decoder for a type, called with values other than NULL; None if there is none."""
        if not self._codecs or (name := self._name_of(sql_type)) is None:
            return None
        decoder = self._codecs[name].decoder
        return None if decoder is None else lambda value: called(decoder, value, f"the decoder of {name}")

    def _name_of(self, sql_type: SqlType) -> str | None:
        """The name under which the type has a codec: its own, else that of its base type."""
        names = sql_type.extended_name.lower(), sql_type.opaque_name, _CODE_NAMES.get(sql_type.kind, "")
        return next((name for name in names if name in self._codecs), None)


_CODE_NAMES: Final = {int(code): code.name.lower() for code in TypeCode}

PLAIN: Final = Conversions()
"""No conversions: values as the codecs of their types decode them."""

JSON: Final = JsonFunctions()


_SYNONYMS: Final = {
    "int": "integer",
    "dec": "decimal",
    "numeric": "decimal",
    "real": "smallfloat",
    "double precision": "float",
    "character": "char",
    "character varying": "varchar",
}
_NAME: Final = re.compile(r"[^\W\d][\w$]*")


def type_name(name: object, option: str) -> str:
    """The name of a type as in descriptions; accepts SQL's synonyms.

    Raises:
        InterfaceError: begins with *option*; it is not a name.
    """
    if not isinstance(name, str):
        raise InterfaceError(f"{option}: expected the name of an Informix type, got {type(name).__name__}")
    plain = " ".join(name.lower().split())
    plain = _SYNONYMS.get(plain, plain)
    if not _NAME.fullmatch(plain):
        raise InterfaceError(
            f"{option}: expected the name of an Informix type without length or qualifier, got {name!r:.40}"
        )
    return plain


def checked_codec(codec: Any, option: str) -> TypeCodec:
    """A TypeCodec, or a pair of encoder and decoder.

    Raises:
        InterfaceError: begins with *option*.
    """
    kind: str = type(codec).__name__
    if issubclass(type(codec), tuple) and len(codec) == 2:
        encoder, decoder = codec
        if all(part is None or callable(part) for part in (encoder, decoder)):
            return TypeCodec(encoder, decoder)
    raise InterfaceError(f"{option}: expected a TypeCodec of callables or None, got {kind}")


def checked_conversions(
    codecs: object,
    adapters: object,
    *,
    integral_decimals: bool,
    json_loads: object = None,
    json_dumps: object = None,
    dbdate: str = "",
    zone: tzinfo | None = None,
) -> Conversions:
    """Conversions from what the options ``type_codecs``, ``adapters``, ``json_loads`` and ``json_dumps`` say.

    Raises:
        InterfaceError: begins with the option's name.
    """
    by_name = {
        type_name(name, "type_codecs"): checked_codec(codec, "type_codecs")
        for name, codec in _mapping(codecs, "type_codecs").items()
    }
    by_class = _mapping(adapters, "adapters")
    for kind, convert in by_class.items():
        if not isinstance(kind, type):
            raise InterfaceError(f"adapters: expected classes as keys, got {type(kind).__name__}")
        if not callable(convert):
            got = type(convert).__name__
            raise InterfaceError(f"adapters: expected a callable for {kind.__name__}, got {got}")
    json = JsonFunctions(
        _function(json_loads, "json_loads") or JSON.loads, _function(json_dumps, "json_dumps") or JSON.dumps
    )
    return Conversions(
        by_name, by_class, integral_decimals=integral_decimals, json=json, dbdate=dbdate, zone=zone
    )


def _function(given: object, option: str) -> Callable[[Any], Any] | None:
    if given is None or callable(given):
        return given
    raise InterfaceError(f"{option}: expected a function, got {type(given).__name__}")


def _mapping(given: Any, option: str) -> Mapping[Any, Any]:
    if issubclass(type(given), Mapping):
        mapping: Mapping[Any, Any] = given
        return mapping
    raise InterfaceError(f"{option}: expected a mapping, got {type(given).__name__}")
