from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest

from aioifx.errors import ProtocolError
from aioifx.sqltypes import Column, SqlType, TypeCode
from aioifx.wire import descriptions
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, read_reply
from tests.feeding import feed, outcome
from tests.wire.reply_reading import DIALECT, EOT, read, reading


def test_a_name_outside_the_table_of_names_is_a_protocol_error() -> None:
    column = pack(">iihi", 7, 0, 2, 0) + pack(">hh", 0, 0) + pack(">hhii", 0, 0, 0, 4)
    data = pack(">hhhihhi", 8, 2, 0, 0, 4, 1, 2) + column + b"a\0" + EOT
    assert outcome(reading(), [data]).error is ProtocolError


FLAG = SqlType(TypeCode.UDTFIXED, 1, 5, "informix", "boolean")
NUMBER = SqlType(TypeCode.INTEGER, 4)
SHAPES = [
    [NUMBER] * 3,
    [FLAG] * 2,
    [NUMBER, FLAG, NUMBER, NUMBER, FLAG],
    [FLAG, NUMBER],
    [NUMBER, SqlType(5, 0x0802)],
]


@pytest.mark.parametrize("types", SHAPES)
@pytest.mark.parametrize("size", [1, 7, 30, 31, 61, 1000])
def test_columns_with_and_without_names_of_types_arrive_in_any_pieces(
    types: list[SqlType], size: int
) -> None:
    columns = tuple(Column(f"c{n}", each, n % 2 == 0, n * 4) for n, each in enumerate(types))
    outbox = Outbox()
    descriptions.put_describe(outbox, DIALECT, descriptions.Description(2, 1, columns, 20))
    data = outbox.detach() + EOT
    pieces = [bytes(data[at : at + size]) for at in range(0, len(data), size)]
    found = outcome(reading(), pieces).value
    assert isinstance(found, Reply) and found.description is not None
    assert found.description.columns == columns


def test_types_that_differ_only_in_their_source_are_kept_apart() -> None:
    columns = tuple(Column(f"c{source}", SqlType(TypeCode.INTEGER, 4, source=source)) for source in (0, 7, 8))
    outbox = Outbox()
    descriptions.put_describe(outbox, DIALECT, descriptions.Description(2, 1, columns, 12))
    description = read((outbox.detach() + EOT).hex()).description
    assert description is not None and [column.type.source for column in description.columns] == [0, 7, 8]


def test_a_row_wider_than_a_short_can_say_is_described_as_the_widest_that_it_can() -> None:
    outbox = Outbox()
    descriptions.put_describe(outbox, DIALECT, descriptions.Description(2, 1, (), row_size=100_000))
    reply = read(outbox.detach().hex() + "000c")
    assert reply.description is not None and reply.description.row_size == 0x7FFF


@pytest.mark.parametrize(
    ("named_parameters", "head"), [(True, "007d 0001 0000 0002"), (False, "007d 0001 0002")]
)
def test_the_count_of_parameters_is_followed_by_a_short_with_bit_52(
    named_parameters: bool, head: str
) -> None:
    capabilities = replace(DIALECT, named_parameters=named_parameters)
    outbox = Outbox()
    descriptions.put_idescribe(outbox, capabilities, [SqlType(TypeCode.INTEGER, 4)])
    data = outbox.detach()
    assert data.startswith(bytes.fromhex(head))
    reply, _ = feed(lambda inbox: read_reply(inbox, capabilities), [data + EOT])
    assert reply.parameters == (SqlType(TypeCode.INTEGER, 4),)


def test_a_parameter_of_unknown_type_is_described_as_char() -> None:
    outbox = Outbox()
    descriptions.put_idescribe(outbox, DIALECT, [None])
    reply = read(outbox.detach().hex() + "000c")
    assert reply.parameters is not None and reply.parameters[0].code == 0
