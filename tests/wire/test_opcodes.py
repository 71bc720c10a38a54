"""Opcodes: the numbers, against a second list of them, and each with its reader."""

from __future__ import annotations

from aioifx.wire import replies, requests
from aioifx.wire.opcodes import LoginBlock, LoginType, Op, OpenWarning, StatementType

# As the recorder of the JDBC vectors lists them; names that are only this package's are left out.
RECORDED = {
    1: "COMMAND", 2: "PREPARE", 3: "CURNAME", 4: "ID", 5: "BIND", 6: "OPEN", 7: "EXECUTE", 8: "DESCRIBE",
    9: "NFETCH", 10: "CLOSE", 11: "RELEASE", 12: "EOT", 13: "ERR", 14: "TUPLE", 15: "DONE", 17: "PUT",
    19: "CMMTWORK", 20: "RBWORK", 22: "NDESCRIBE", 23: "SFETCH", 24: "SCROLL", 25: "TUPID", 26: "DBLIST",
    35: "BEGIN", 36: "DBOPEN", 37: "DBCLOSE", 38: "FETCHBLOB", 39: "BLOB", 41: "BBIND", 43: "HOLD",
    49: "WANTDONE", 53: "VERSION", 55: "COST", 56: "EXIT", 81: "INFO", 94: "INSERTDONE", 97: "LODATA",
    98: "FILE", 106: "FILE_READ", 107: "FILE_WRITE", 99: "XACTSTAT", 100: "RET_TYPE", 101: "GETROUTINE",
    102: "EXFPROUTINE", 103: "FPROUTINE", 104: "FPARAM", 108: "AUTOFREE",
    124: "CIDESCRIBE", 125: "IDESCRIBE", 126: "PROTOCOLS", 127: "ACCEPT", 128: "ACK",
    129: "CHALLENGE", 130: "RESPONSE", 131: "FPDESCRIBE", 132: "FPDESCRIPTION",
    134: "AUTOGENKEYS", 137: "SETSVPT", 138: "RELSVPT", 139: "RBSVPT",
}  # fmt: skip


def test_every_tag_has_the_number_that_was_recorded() -> None:
    assert {int(op): op.name for op in Op} == RECORDED


def test_every_tag_has_a_reader() -> None:
    from_clients = {*requests.BARE, *requests.MESSAGE_READERS, Op.EOT, Op.EXIT}
    from_servers = {*replies.MESSAGE_READERS, Op.TUPLE, Op.ERR, Op.CLOSE, Op.BLOB, Op.FILE, Op.EXIT, Op.EOT}
    during_pam = {Op.CHALLENGE, Op.ACCEPT}
    assert from_clients | from_servers | during_pam == set(Op)


def test_no_tag_is_read_in_two_ways() -> None:
    assert requests.BARE.keys() & requests.MESSAGE_READERS.keys() == set()


def test_the_numbers_of_the_other_tables_are_the_documented_ones() -> None:
    assert (StatementType.SELECT, StatementType.INSERT, StatementType.EXECUTE_ROUTINE) == (2, 6, 56)
    assert [LoginType.REQUEST, LoginType.ACCEPT, LoginType.REJECT, LoginType.REDIRECT] == [1, 2, 3, 13]
    assert (LoginBlock.ASSOCIATION, LoginBlock.RESULT, LoginBlock.END) == (100, 102, 127)
    assert OpenWarning(0x01) is OpenWarning.LOGGED and OpenWarning(0x02) is OpenWarning.ANSI
