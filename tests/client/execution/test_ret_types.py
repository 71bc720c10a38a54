"""The types in which values are requested, SQ_RET_TYPE."""

from __future__ import annotations

import pytest

from aioifx.client.execution.ret_types import ret_types_of
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, column, described, done, raw_row
from aioifx.testing.script import PREPARE, closing
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import read_reply
from tests.feeding import feed
from tests.scripted import C1, FLAG, TEXT, talking
from tests.wire.frames import frames

pytestmark = pytest.mark.usefixtures("tidy")


def ret_type_in(data: bytes) -> bytes:
    """The last column of the SQ_RET_TYPE in a frame of put.json, whose rows follow it."""
    return data[data.index(b"\0\x2d") : data.index(b"\0\x11\0\0", 60)]


async def test_a_boolean_is_requested_as_jdbc_requests_it() -> None:
    frame = next(f for f in frames("put") if f.side == "C" and b"boolean" in f.data and b"\0\x64" in f.data)
    wanted = ret_type_in(frame.data)
    assert wanted == bytes.fromhex("002d 0000 0007 626f6f6c65616e 00 00000001")
    ownerless = column(
        "flag", TypeCode.UDTFIXED, 1, extended_id=5, extended_name="boolean"
    )  # as the rig described it
    async with talking(
        (PREPARE, described(2, ownerless)),
        ("Id(2) CurName Open Id(2) RetType(1) Fetch", raw_row(b"\0\0\0\0\1\1") + done(1) + EOT),
        closing(2),
    ) as (conn, peer):
        assert await conn.fetchval("select flag from t") is True
        assert wanted + b"\0\x09" in peer.groups[1]


async def test_an_lvarchar_is_requested_as_43_without_a_name_and_the_other_columns_as_they_are() -> None:
    row = b"\0\0\0\7" + b"\0\0\0\0\3abc"
    async with talking(
        (PREPARE, described(2, C1, TEXT)),
        ("Id(2) CurName Open Id(2) RetType(2) Fetch", raw_row(row) + done(1) + EOT),
        closing(2),
    ) as (conn, peer):
        assert await conn.fetch("select c1, text from t") == [(7, "abc")]
        asked = bytes.fromhex("0064 0001 00020002 00000004002b 0000 0000 00000800")
        assert asked + b"\0\x09" in peer.groups[1]


@pytest.mark.parametrize("case", ["ret_type_owner", "ret_type_no_owner"])
def test_the_forms_that_are_requested_name_the_owners_that_were_described(case: str) -> None:
    _, prepared, _, _, asked, *_ = [frame.data for frame in frames("owners15") if frame.case == case]
    described, _ = feed(lambda inbox: read_reply(inbox, Capabilities()), [prepared])
    assert described.description is not None
    outbox = Outbox()
    requests.put_ret_type(outbox, Capabilities(), ret_types_of(described.description.columns))
    assert outbox.detach() == asked[4:].removesuffix(b"\0\x09\0\0\x20\0\0\0" + EOT)


def test_nothing_is_requested_where_a_column_is_a_row_or_a_collection() -> None:
    """Without any SQ_RET_TYPE they come as text (observed: 12.10, 14.10 and 15)."""
    assert [form.code for form in ret_types_of([C1, FLAG])] == [TypeCode.INTEGER, TypeCode.BOOLEAN]
    for kind in (TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION):
        assert ret_types_of([C1, FLAG, column("c", kind)]) == ()


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("json_read", {"a": 1}),
        ("bson_read", {"a": 1}),
        ("row_read", ("Alice", 30)),
        ("set_read", {1, 2}),
        ("list_read", ["ab", "cd"]),
    ],
)
async def test_described_values_are_objects_and_documents_are_requested_as_by_jdbc(
    case: str, value: object
) -> None:
    recorded = [frame for frame in frames("types15") if frame.case == case]
    describing = next(frame.data for frame in recorded if frame.data[:2] == b"\0\x08")
    rows = next(frame.data for frame in recorded if frame.data[:2] == b"\0\x0e")
    asking = next(frame.data for frame in recorded if frame.side == "C" and b"\0\x64" in frame.data[4:8])
    async with talking((PREPARE, describing), (None, rows), closing(0)) as (conn, peer):
        assert await conn.fetch("select * from t") == [(value, 1234567)]
        types = asking[4 : asking.index(b"\0\x09\0\0")]
        # A literal is text, which only a request without types gives (observed: 12.10 to 15).
        assert (types in peer.groups[1]) is (case in ("json_read", "bson_read"))
