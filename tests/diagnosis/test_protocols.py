"""Protocols by their first bytes."""

from __future__ import annotations

import pytest

from aioifx.diagnosis.protocols import changes_for, protocol_of, shown
from aioifx.testing.messages import accepted
from aioifx.wire.opcodes import LoginType
from tests.diagnosis.ports import drda, http
from tests.wire.frames import load


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (http(b""), "HTTP"),
        (b"<html><body>", "HTTP"),
        (drda(b""), "DRDA"),
        (b"\x15\x03\x03\0\x02\x02\x28", "TLS"),
        (b"220 ftp.example", "SMTP or FTP"),
        (b"\x4a\0\0\0\x0a8.0.36\0", "MySQL"),
        (accepted(), "SQLI"),
        (accepted(type=LoginType.REJECT, sqlcode=-951), "SQLI"),
        (b"", ""),
        (b"\0", ""),
        (b"hello", ""),
    ],
)
def test_protocols(first: bytes, protocol: str) -> None:
    assert protocol_of(first) == protocol


def test_the_reply_of_a_real_server_is_sqli() -> None:
    _, reply = [bytes.fromhex(entry["hex"]) for entry in load("gbase8s_login")["frames"]]
    assert protocol_of(reply) == "SQLI"


def test_each_protocol_has_a_change() -> None:
    assert [change.setting for change in changes_for("TLS")] == ["ssl"]
    assert "drsoctcp" in changes_for("DRDA")[0].to
    assert [change.setting for change in changes_for("")] == ["port"]


def test_bytes_are_shown_shortened() -> None:
    assert shown(b"SSH-2.0\r\n") == r"'SSH-2.0\r\n'"
    assert len(shown(b"x" * 100)) == 26
