from __future__ import annotations

from aioifx.codecs.large_objects import parameter_descriptor
from aioifx.server.protocol.incoming_values import IncomingValues, descriptors

PLACE = parameter_descriptor(3, 56)


def test_values_take_the_places_of_descriptors_in_order() -> None:
    incoming = IncomingValues()
    assert [incoming.add(piece) for piece in (b"ab", b"c", b"", b"")] == [False, False, True, True]
    assert incoming.count == 2
    rows = [(1, PLACE, None), (2, PLACE, "x")]
    assert descriptors(rows) == 2
    assert incoming.placed(rows) == [(1, b"abc", None), (2, b"", "x")]


def test_a_descriptor_without_a_value_stays() -> None:
    incoming = IncomingValues()
    assert incoming.placed([(PLACE,)]) == [(PLACE,)]
    incoming.add(b"a")
    incoming.add(b"")
    incoming.add(b"incomplete")
    assert incoming.placed([(PLACE, PLACE)]) == [(b"a", PLACE)]
