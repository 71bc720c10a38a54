from __future__ import annotations

from functools import partial

import pytest

from aioifx.errors import ProtocolError
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire import routines
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import CallRoutine, Routine
from aioifx.wire.replies import read_reply
from aioifx.wire.requests import Bind, read_request
from tests.feeding import feed
from tests.wire.frames import frames

DIALECT = Capabilities()
SHOP = Routine(b"shop", 77)
request_of = partial(read_request, capabilities=DIALECT)
reply_of = partial(read_reply, capabilities=DIALECT)


def test_jdbc_describes_finds_and_calls_the_routine_of_the_token() -> None:
    refusal, parameters, found, first, again = [
        feed(reply_of, [frame.data])[0] for frame in frames("outputs15") if frame.side == "S"
    ]
    assert refusal.error is not None
    assert (refusal.error.sqlcode, routines.routine_in(refusal.error.token)) == (-9752, SHOP)
    text = SqlType(TypeCode.VARCHAR, 20)
    size = SqlType(TypeCode.INTEGER, 4)
    assert parameters.routine_parameters == ((4, "size", size), (2, "text", text))
    assert found.routine == Routine(b"shop", 9)
    assert (first.outputs, again.outputs) == ((True, True), None)
    assert [[entry.data for entry in reply.returned or ()] for reply in (first, again)] == [
        [b"\0\0\0\3", b"abc!"],
        [b"", b""],
    ]
    sent = [feed(request_of, [frame.data])[0] for frame in frames("outputs15") if frame.side == "C"]
    assert sent[1:3] == [[routines.DescribeRoutine(SHOP)], [routines.FindNumbered(SHOP)]]
    null = BindEntry(2, b"", b"", -1, 0, b"")
    for group, value, wanted in zip(sent[3:], (b"abc", None), (True, False), strict=True):
        call, bind, outputs = group
        assert call == CallRoutine(b"shop", 9, 2, routines.BY_NUMBER)
        assert isinstance(bind, Bind)
        assert (bind.entries[0], bind.entries[1].data) == (null, value or b"")
        assert outputs == routines.Outputs(wanted)


@pytest.mark.parametrize("token", ["", "p", "p:", "p:x:", ":", "p:12345678901:"])
def test_other_tokens_name_no_routine(token: str) -> None:
    assert routines.routine_in(token) is None


def test_a_token_is_read_as_it_was_made() -> None:
    assert routines.routine_in(routines.routine_token(SHOP)) == SHOP
    assert routines.routine_in("shop:77:more") == SHOP


def test_a_description_is_requested_with_two_ends() -> None:
    with pytest.raises(ProtocolError, match=r"^SQ_FPDESCRIBE without its SQ_EOT$"):
        feed(request_of, [bytes.fromhex("0083 01 0004 73686f70 0000004d 0001 000c")])


@pytest.mark.parametrize("data", ["0084 ffff 0000", f"0068 0001 {'00' * 31} ffffffff 0000"])
def test_a_count_that_no_routine_has_is_refused(data: str) -> None:
    with pytest.raises(ProtocolError, match=r"^a routine with -?\d+ parameters$"):
        feed(reply_of, [bytes.fromhex(data) + b"\0\x0c"])


def test_parameters_without_names_are_read() -> None:
    type_ = "0002 00000000 0000 0000 0000 0000 00000000 00000004"
    described = bytes.fromhex(f"0084 0001 0000 {type_} 0000 000c")
    (parameter,) = feed(reply_of, [described])[0].routine_parameters or ()
    assert parameter == (0, "", SqlType(TypeCode.INTEGER, 4))
    modes = f"0068 0001 {'00' * 31} 00000001 0001 04 0001 61 00 {'00' * 15} 0001 000c"
    assert feed(reply_of, [bytes.fromhex(modes)])[0].outputs == (True,)
