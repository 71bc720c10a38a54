"""A password in options: used, never shown."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from aioifx.client.config.password import Secret
from aioifx.client.config.resolve import parse_dsn
from aioifx.errors import InterfaceError

URL = "informix://app:pa55word@db1:9088/shop?server=ol_shop"


def test_options_show_no_password_however_they_are_looked_at() -> None:
    found = parse_dsn(URL)
    assert isinstance(found.password, Secret) and found.password.reveal() == "pa55word"
    shown = [repr(found), repr(dataclasses.asdict(found)), repr(found.password), str(found.password)]
    shown += [f"{found.password}", repr(dataclasses.astuple(found))]
    assert not any("pa55word" in text for text in shown)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert b"pa55word" not in pickle.dumps(found, protocol)


def test_copies_keep_the_password_and_pickles_do_not() -> None:
    found = parse_dsn(URL)
    for kept in (copy.copy(found), copy.deepcopy(found), dataclasses.replace(found, port=1)):
        assert isinstance(kept.password, Secret) and kept.password.reveal() == "pa55word"
    sent = pickle.loads(pickle.dumps(found))
    assert sent != found
    with pytest.raises(InterfaceError, match=r"^password: not included in a pickle"):
        sent.password.reveal()
    assert dataclasses.replace(sent, password="pa55word") == found


def test_secrets_are_compared_by_what_they_hide() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a") != "a"
