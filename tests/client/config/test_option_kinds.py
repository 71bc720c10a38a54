"""Kinds of options: what each accepts as a value, and from the text of an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from aioifx.client.config import option_kinds
from aioifx.client.config.option_kinds import FLAG, SECONDS, Kind, in_code, kinds_of, option, whole, word
from aioifx.client.config.options import KINDS, AllOptionFields
from aioifx.client.config.resolve import parse_dsn
from aioifx.errors import InterfaceError

URL = "informix://app@db1/shop?server=s&"


def test_a_new_option_is_one_entry() -> None:
    def check_even(value: object) -> None:
        if value not in (2, 4):
            raise InterfaceError(f"even: expected 2 or 4, got {value}")

    @dataclass
    class Options:
        even: int = option(2, Kind(option_kinds.value_checked(check_even), option_kinds.whole_from_text))
        names: dict[str, str] = option(dict[str, str], in_code())  # noqa: RUF009

    kinds = kinds_of(Options)
    assert (Options().even, Options().names, [*kinds]) == (2, {}, ["even", "names"])
    assert kinds["even"].from_text is not None and kinds["even"].from_text("even", "4") == 4
    assert kinds["even"].check is not None
    with pytest.raises(InterfaceError, match="even: expected 2 or 4, got 3"):
        kinds["even"].check("even", 3)


def test_every_option_has_a_kind_and_an_address_has_those_that_text_can_express() -> None:
    assert {*KINDS} == {*AllOptionFields.__annotations__}
    only_in_code = {name for name, kind in KINDS.items() if kind.from_text is None}
    assert only_in_code == {
        "environment", "client_files", "pam", "type_codecs", "adapters", "json_loads", "json_dumps", "observer",
        "trace", "trace_values", "row_factory",
    }  # fmt: skip
    for name in only_in_code - {"environment"}:
        with pytest.raises(InterfaceError, match=f"^{name}: not supported in a DSN under this name"):
            parse_dsn(f"{URL}{name}=1")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("autocommit", "off", False),
        ("fetch_size", "8192", 8192),
        ("command_timeout", "2.5", 2.5),
        ("lock_wait", "inf", -1),
        ("lock_wait", "3", 3),
        ("keepalive", "no", False),
        ("keepalive", "1, 2, 3", (1, 2, 3)),
        ("ssl", "true", True),
    ],
)
def test_the_text_of_an_address_becomes_a_value(name: str, text: str, value: object) -> None:
    assert getattr(parse_dsn(f"{URL}{name}={text.replace(' ', '%20')}"), name) == value


@pytest.mark.parametrize(
    ("kind", "value"), [(FLAG, 1), (SECONDS, 0), (whole(1, 3), 4), (whole(1, 3), True), (SECONDS, "1")]
)
def test_a_wrong_value_is_refused_by_name(kind: Kind, value: Any) -> None:
    assert kind.check is not None
    with pytest.raises(InterfaceError, match=r"^x: expected"):
        kind.check("x", value)


@pytest.mark.parametrize(("kind", "text"), [(FLAG, "maybe"), (SECONDS, "soon"), (whole(1, 3), "1e3")])
def test_wrong_text_is_refused_by_name_and_not_shown(kind: Kind, text: str) -> None:
    assert kind.from_text is not None
    with pytest.raises(InterfaceError, match=r"^x: expected") as caught:
        kind.from_text("x", text)
    assert text not in str(caught.value)


def test_a_word_is_checked_by_its_value() -> None:
    kind = word(lambda value: value)
    assert kind.from_text is not None and kind.from_text("x", "any") == "any"
