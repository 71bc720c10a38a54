from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from aioifx.codecs import native
from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.conversions import (
    PLAIN,
    STANDARD,
    Adapter,
    Conversions,
    TypeCodec,
    checked_codec,
    checked_conversions,
    type_name,
    with_adapters,
)
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, INTEGER, JSON, LATIN1, LVARCHAR, columns_of, decimal_type

VARCHAR = SqlType(TypeCode.VARCHAR, 40)
DATETIME = SqlType(TypeCode.DATETIME, 0x0E0A)
EUROS = SqlType(TypeCode.DECIMAL, 8 << 8 | 2, extended_name="euros", flags=DISTINCT)

ID = uuid.UUID(int=7)


class Plain(enum.Enum):
    TEXT = "text"
    NUMBER = 7
    ID = ID


class Name(str):
    pass


class Worded(str, enum.Enum):  # noqa: UP042 - what was written before StrEnum
    RED = "red"


class Count(enum.IntEnum):
    FIVE = 5


class Moment(dt.datetime):
    """Such as pandas' and freezegun's."""


# --- what works out of the box --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (ID, str(ID)),
        (Plain.TEXT, "text"),
        (Plain.NUMBER, 7),
        (Plain.ID, str(ID)),
        (Worded.RED, "red"),
        (Count.FIVE, 5),
        (Name("x"), "x"),
        (Moment(2024, 2, 29, 1, 2, 3), dt.datetime(2024, 2, 29, 1, 2, 3)),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "sql_type", [None, VARCHAR, LVARCHAR, INTEGER, decimal_type(8, 2), DATETIME], ids=str
)
def test_uuid_enum_and_subclasses_go_as_what_they_are(
    given: Any, same: Any, sql_type: SqlType | None
) -> None:
    try:
        expected = binder_for(sql_type, LATIN1)(same)
    except DataError as error:
        with pytest.raises(DataError) as caught:
            binder_for(sql_type, LATIN1)(given)
        assert str(caught.value).replace(type(given).__name__, type(same).__name__) == str(error)
    else:
        assert binder_for(sql_type, LATIN1)(given) == expected


def test_an_unknown_class_is_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"^VARCHAR\(40\) does not accept object$"):
        binder_for(VARCHAR, LATIN1)(object())


# --- adapters -------------------------------------------------------------------------------------------------------


class Point:
    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


class Pixel(Point):
    pass


def test_an_adapter_is_found_by_the_nearest_class() -> None:
    adapt = Adapter({Point: lambda point: f"{point.x},{point.y}"})
    assert adapt(Pixel(1, 2)) == "1,2"
    nearer = Adapter({Point: lambda point: "point", Pixel: lambda pixel: "pixel"})
    assert (nearer(Point(1, 2)), nearer(Pixel(1, 2))) == ("point", "pixel")
    assert adapt(None) is None


def test_an_adapter_comes_before_what_works_out_of_the_box() -> None:
    assert Adapter({Plain: lambda member: member.name})(Plain.NUMBER) == "NUMBER"
    assert Adapter({enum.Enum: lambda member: member.name})(Plain.NUMBER) == "NUMBER"
    assert Adapter({uuid.UUID: lambda value: value.hex})(ID) == ID.hex


def test_an_accepted_class_is_nearer_than_its_base() -> None:
    adapt = Adapter({int: str, dt.date: lambda day: day.isoformat()})
    assert adapt(5) == "5"
    assert adapt(True) is True
    assert adapt(dt.date(2024, 2, 29)) == "2024-02-29"
    assert adapt(dt.datetime(2024, 2, 29)) == dt.datetime(2024, 2, 29)


def test_an_adapter_may_give_its_own_class() -> None:
    naive = Adapter({dt.datetime: lambda moment: moment.astimezone(dt.UTC).replace(tzinfo=None)})
    zone = dt.timezone(dt.timedelta(hours=2))
    assert naive(dt.datetime(2024, 1, 1, 2, tzinfo=zone)) == dt.datetime(2024, 1, 1)


def test_adapters_that_lead_round_and_round_end() -> None:
    class Other(Point):
        pass

    round_and_round = Adapter({Point: lambda point: Other(1, 2), Other: lambda other: Point(1, 2)})
    with pytest.raises(DataError, match="INTEGER does not accept"):
        binder_for(INTEGER, LATIN1, round_and_round)(Point(1, 2))


# --- both kernels, and the reference --------------------------------------------------------------------------------

ENCODERS = [native.pure_encoder, *([native.native_encoder] if native.NATIVE else [])]
encoders = pytest.mark.parametrize("make", ENCODERS, ids=lambda make: make.__name__)


@encoders
def test_what_an_adapter_makes_of_a_usual_class_is_sent(make: Any) -> None:
    conversions = Conversions(adapters={str: str.upper, float: Decimal})
    types = (VARCHAR, decimal_type(8, 2), INTEGER)
    adapters = adapters_for(conversions, types, LATIN1)
    rows = [("abc", 1.5, 7), (None, None, None), ("é", Decimal(1), 8)] * 200
    out = bytearray()
    source = iter(rows)
    while True:
        _, left = make(types, LATIN1, b"", b"", adapters)(source, out, 1 << 40)
        if left is None:
            break
        out += ParamEncoder(types, LATIN1, adapters).encode(left[0])[2:]
    plain = ParamEncoder(types, LATIN1)
    expected = [("ABC", Decimal("1.5"), 7), (None, None, None), ("É", Decimal(1), 8)] * 200
    assert bytes(out) == b"".join(plain.encode(row)[2:] for row in expected)


@encoders
def test_an_encoder_is_asked_for_every_value_of_its_type_but_null(make: Any) -> None:
    asked: list[Any] = []

    def encoder(value: Any) -> Any:
        asked.append(value)
        return None if value == "" else value * 2

    types = (VARCHAR, INTEGER)
    adapters = adapters_for(Conversions({"varchar": TypeCodec(encoder)}), types, LATIN1)
    out = bytearray()
    taken, left = make(types, LATIN1, b"", b"", adapters)(iter([("ab", 1), (None, 2), ("", 3)]), out, 1 << 40)
    reference = ParamEncoder(types, LATIN1, adapters)
    expected = b"".join(
        ParamEncoder(types, LATIN1).encode(row)[2:] for row in [("abab", 1), (None, 2), (None, 3)]
    )
    if make is native.native_encoder:
        assert (bytes(out), taken, left) == (expected, 3, None)
        assert asked == ["ab", ""]
    assert b"".join(reference.encode(row)[2:] for row in [("ab", 1), (None, 2), ("", 3)]) == expected


def encoded(values: Sequence[Any], sql_type: SqlType, conversions: Conversions) -> bytes:
    columns = columns_of(sql_type)
    adapters = adapters_for(conversions, [sql_type], LATIN1)
    return bytes(RowEncoder(columns, LATIN1, adapters=adapters).encode([(value,) for value in values]))


def test_rows_are_encoded_with_what_adapters_and_encoders_make() -> None:
    conversions = Conversions({"char": TypeCodec(str.lower)}, {float: round, Point: lambda point: point.x})
    assert encoded([1.4, Point(3, 4), None], INTEGER, conversions) == encoded([1, 3, None], INTEGER, PLAIN)
    char = SqlType(TypeCode.CHAR, 4)
    assert encoded(["AB", None], char, conversions) == encoded(["ab", None], char, PLAIN)
    assert encoded([ID, Plain.TEXT], VARCHAR, PLAIN) == encoded([str(ID), "text"], VARCHAR, PLAIN)


def test_rows_are_decoded_with_what_decoders_make_and_null_goes_past_them() -> None:
    conversions = Conversions({"integer": TypeCodec(decoder=lambda value: [value])})
    columns = columns_of(INTEGER, VARCHAR, BOOLEAN)
    rows = [(1, "a", True), (None, None, None), (2, "bc", False)]
    data = bytearray(RowEncoder(columns, LATIN1).encode(rows))
    found: list[Any] = []
    RowDecoder(columns, LATIN1, conversions=conversions)(data, 0, len(data), found)
    assert found == [([1], "a", True), (None, None, None), ([2], "bc", False)]


def test_a_codec_that_fails_is_named_with_its_column_or_parameter_and_no_value() -> None:
    def fails(value: Any) -> Any:
        raise LookupError(f"secret {value}")

    conversions = Conversions({"integer": TypeCodec(fails, fails)}, {Point: fails})
    columns = columns_of(INTEGER)
    data = bytearray(RowEncoder(columns, LATIN1).encode([(7,)]))
    adapters = adapters_for(conversions, [VARCHAR, INTEGER], LATIN1)
    trials: list[tuple[Any, str]] = [
        (
            lambda: RowDecoder(columns, LATIN1, conversions=conversions)(data, 0, len(data), []),
            f"column {columns[0].name!r}: the decoder of integer raised LookupError",
        ),
        (
            lambda: encoded([7], INTEGER, conversions),
            f"column {columns[0].name!r}: the encoder of integer raised LookupError",
        ),
        (
            lambda: ParamEncoder((VARCHAR, INTEGER), LATIN1, adapters).encode(("a", 7)),
            "parameter 2: the encoder of integer raised LookupError",
        ),
        (
            lambda: ParamEncoder((VARCHAR, INTEGER), LATIN1, adapters).encode((Point(1, 2), 7)),
            "parameter 1: the adapter of Point raised LookupError",
        ),
    ]
    for trial, message in trials:
        with pytest.raises(DataError) as caught:
            trial()
        assert str(caught.value) == message
        assert isinstance(caught.value.__cause__, LookupError)


# --- which type, and which options ----------------------------------------------------------------------------------


def test_a_type_is_known_by_its_own_name_and_by_its_base_types() -> None:
    euros, decimals = TypeCodec(decoder=str), TypeCodec(decoder=repr)
    both = Conversions({"euros": euros, "decimal": decimals})

    def made_by(conversions: Conversions, sql_type: SqlType) -> Any:
        decoder = conversions.decoder_for(sql_type)
        return decoder and decoder(Decimal(1))

    assert made_by(both, EUROS) == "1"
    assert made_by(both, decimal_type(8, 2)) == "Decimal('1')"
    assert made_by(Conversions({"decimal": decimals}), EUROS) == "Decimal('1')"
    assert made_by(Conversions({"json": euros}), JSON) == "1"
    assert made_by(Conversions({"lvarchar": euros}), JSON) is None
    assert made_by(Conversions({"lvarchar": euros}), LVARCHAR) == "1"
    assert made_by(Conversions({"boolean": euros}), BOOLEAN) == "1"
    assert made_by(both, SqlType(200)) is None


def test_a_codec_is_replaced_and_taken_away() -> None:
    first = Conversions({"integer": TypeCodec(decoder=str)}, {float: str}, integral_decimals=True)
    second = first.with_codec("integer", TypeCodec(decoder=hex))
    third = second.with_codec("integer", TypeCodec())
    decoders = [one.decoder_for(INTEGER) for one in (first, second)]
    assert [decoder and decoder(255) for decoder in decoders] == ["255", "0xff"]
    assert third.decoder_for(INTEGER) is None
    assert third.integral_decimals and third.adapter_for(INTEGER)(1.5) == "1.5"
    assert third.with_codec("integer", TypeCodec()).decoder_for(INTEGER) is None


def test_nothing_asked_for_is_the_standard_for_all() -> None:
    assert PLAIN.adapter_for(INTEGER) is PLAIN.adapter_for(None) is STANDARD
    assert adapters_for(PLAIN, [INTEGER, None], LATIN1) == ()
    assert adapters_for(Conversions({"char": TypeCodec(str)}), [INTEGER, None], LATIN1) == ()
    assert with_adapters([INTEGER, None], ()) == [(INTEGER, STANDARD), (None, STANDARD)]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("INTEGER", "integer"),
        (" int ", "integer"),
        ("double  precision", "float"),
        ("NUMERIC", "decimal"),
        ("Euros", "euros"),
    ],
)
def test_a_types_name_is_taken_in_any_spelling(name: str, plain: str) -> None:
    assert type_name(name, "type") == plain


@pytest.mark.parametrize("name", ["DECIMAL(8,2)", "DATETIME YEAR TO DAY", "", "1st", 7, None])
def test_anything_but_a_type_name_is_refused(name: object) -> None:
    with pytest.raises(InterfaceError, match=r"^type: expected the name of an Informix type"):
        type_name(name, "type")


@pytest.mark.parametrize("codec", [None, str, (str,), (str, 7), [str, str]], ids=repr)
def test_anything_but_a_codec_is_refused(codec: object) -> None:
    with pytest.raises(InterfaceError, match=r"^type_codecs: expected a TypeCodec of callables or None"):
        checked_codec(codec, "type_codecs")


@pytest.mark.parametrize(
    ("codecs", "adapters", "message"),
    [
        ([], {}, "type_codecs: expected a mapping, got list"),
        ({"int": str}, {}, "type_codecs: expected a TypeCodec of callables or None, got type"),
        ({"int(4)": TypeCodec()}, {}, "type_codecs: expected the name of an Informix type"),
        ({}, [uuid.UUID], "adapters: expected a mapping, got list"),
        ({}, {"UUID": str}, "adapters: expected classes as keys, got str"),
        ({}, {uuid.UUID: "str"}, "adapters: expected a callable for UUID, got str"),
    ],
)
def test_options_that_are_wrong_are_refused_by_name(codecs: Any, adapters: Any, message: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        checked_conversions(codecs, adapters, integral_decimals=True)
    assert str(caught.value).startswith(message)
