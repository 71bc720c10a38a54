"""The sqlhosts file: lines, groups, and lines that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.config import sqlhosts
from aioifx.client.config.addresses import Address
from aioifx.client.config.sqlhosts import Entry, address_of, lookup, members, parse
from aioifx.errors import InterfaceError

TEXT = """\
# dbservername   nettype    hostname     servicename  options
ol_shop          onsoctcp   db1          9088
  ol_tls\tonsocssl\t*db2 9089 k=0,b=32767   # a comment after a line
ol_local         onipcshm   db1          ol_local
ol_pipe          onipcstr   db1          ol_pipe
ol_drda          drsoctcp   db1          9091
ol_odd           onsocxyz   db1          9092
ol_named         onsoctcp   db1          sqlexec
ol_any           onsoctcp   *            9088
ol_v6            onsoctcp   *[2001:db8::1] 9088
ol_er            onsoctcp   db1          9093         s=6
ol_pam           onsoctcp   db1          9094         s=4,pam_serv=(chal),pamauth=(challenge)
ol_half          onsoctcp   db1
ol_bare
ol_big           onsoctcp   db1          70000
ol_shop          onsoctcp   second       1            the first line of a name counts

g_shop           group      -            -            i=7,e=ol_g3
ol_g1            onsoctcp   db1          9088         g=g_shop
ol_g2            onipcshm   db1          ol_g2        g=g_shop
ol_g3            onsocssl   db3          9089         g=g_shop
g_random         group      -            -            c=1
ol_r1            onsoctcp   r1           1            g=g_random
ol_r2            onsoctcp   r2           2            g=g_random
ol_r3            onsoctcp   r3           3            g=g_random
g_empty          group      -            -
g_local          group      -            -
ol_l1            onipcshm   l1           l1           g=g_local
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "sqlhosts"
    file.write_text(TEXT, "utf-8")
    return str(file)


# -- lines ------------------------------------------------------------------------------------------------------------


def test_a_line_has_a_name_a_type_a_host_a_service_and_options() -> None:
    entries = parse(TEXT)
    assert entries["ol_shop"] == Entry("ol_shop", "onsoctcp", "db1", "9088", {})
    assert entries["ol_tls"] == Entry("ol_tls", "onsocssl", "*db2", "9089", {"k": "0", "b": "32767"})
    assert entries["ol_pam"].options["pam_serv"] == "(chal)"
    assert entries["ol_half"] == Entry("ol_half", "onsoctcp", "db1", "", {})
    assert entries["g_shop"].is_group and not entries["ol_g1"].is_group


def test_blanks_between_options_do_no_harm() -> None:
    assert parse("ol onsoctcp db1 1 k=0, b=4096")["ol"].options == {"k": "0", "b": "4096"}


# Law: no text is refused as a whole; a file belongs to other programs, too.
@given(st.text() | st.text(st.sampled_from("ab #=,\t\n-*"), max_size=60))
def test_any_text_is_read(text: str) -> None:
    for name, entry in parse(text).items():
        assert name == entry.name and not name.startswith("#") and name.split() == [name]


# -- addresses --------------------------------------------------------------------------------------------------------


def test_a_server_is_found_with_what_its_line_says(path: str) -> None:
    assert lookup(path, "ol_shop") == (Address("db1", 9088, "ol_shop", tls=False),)
    assert lookup(path, "ol_tls") == (Address("db2", 9089, "ol_tls", tls=True, keepalive=False),)
    assert lookup(path, "ol_v6") == (Address("2001:db8::1", 9088, "ol_v6", tls=False),)
    assert lookup(path, "ol_pam")[0].port == 9094


def test_a_service_may_be_a_name_known_to_the_machine(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "socket.getservbyname", lambda name, protocol: {("sqlexec", "tcp"): 1526}[name, protocol]
    )
    assert lookup(path, "ol_named")[0].port == 1526


def test_an_unknown_service_is_named(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str, protocol: str) -> int:
        raise OSError("service/proto not found")

    monkeypatch.setattr("socket.getservbyname", unknown)
    with pytest.raises(
        InterfaceError,
        match=r"ol_named in sqlhosts has the service 'sqlexec', which is unknown on this machine",
    ):
        lookup(path, "ol_named")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ol_local", "ol_local in sqlhosts has the type onipcshm: shared memory"),
        ("ol_pipe", "ol_pipe in sqlhosts has the type onipcstr: a pipe"),
        ("ol_drda", "ol_drda in sqlhosts has the type drsoctcp: DRDA"),
        ("ol_odd", "ol_odd in sqlhosts has the type onsocxyz: an unknown type"),
        ("ol_any", r"ol_any in sqlhosts has the host \*"),
        ("ol_er", "ol_er in sqlhosts is for replication only"),
        ("ol_half", "ol_half in sqlhosts has no service"),
        ("ol_bare", r"ol_bare in sqlhosts has the type \(nothing\)"),
        ("ol_big", "ol_big in sqlhosts has a port that is not from 1 to 65535"),
        ("ol_shoe", "unknown server 'ol_shoe' in .*; did you mean 'ol_shop'"),
        ("g_empty", "'g_empty' has no member"),
        ("g_local", "ol_l1 in sqlhosts has the type onipcshm: shared memory"),
    ],
)
def test_a_name_that_leads_nowhere_says_why(path: str, name: str, message: str) -> None:
    with pytest.raises(InterfaceError, match=f"^server: .*{message}"):
        lookup(path, name)


def test_tls_that_the_caller_insists_on_and_the_line_contradict(path: str) -> None:
    assert lookup(path, "ol_tls", True)[0].tls is True
    with pytest.raises(
        InterfaceError, match=r"^ssl: TLS is required, but ol_shop in sqlhosts has the type onsoctcp"
    ):
        lookup(path, "ol_shop", True)
    with pytest.raises(
        InterfaceError, match=r"^ssl: TLS is turned off, but ol_tls in sqlhosts has the type onsocssl"
    ):
        lookup(path, "ol_tls", False)


@pytest.mark.parametrize(
    "nettype", ["onsoctcp", "olsoctcp", "ontlitcp", "soctcp", "onsocssl", "olsocssl", "socssl"]
)
def test_every_type_over_tcp_is_understood(nettype: str) -> None:
    assert address_of(Entry("ol", nettype, "h", "1"), None).tls == nettype.endswith("ssl")


# -- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_is_its_members_in_order_without_those_that_are_no_way(path: str) -> None:
    assert [str(address) for address in lookup(path, "g_shop")] == ["db1:9088", "db3:9089"]
    assert [address.server for address in lookup(path, "g_shop")] == ["ol_g1", "ol_g3"]
    assert [address.server for address in lookup(path, "g_shop", True)] == ["ol_g3"]


@pytest.mark.parametrize(
    ("first", "names"), [(0, "ol_r1 ol_r2 ol_r3"), (1, "ol_r2 ol_r3 ol_r1"), (2, "ol_r3 ol_r1 ol_r2")]
)
def test_a_group_may_begin_anywhere_if_it_says_so(first: int, names: str) -> None:
    entries = parse(TEXT)
    assert [one.name for one in members(entries, "g_random", {3: first}.__getitem__)] == names.split()
    assert [one.name for one in members(entries, "g_shop", {3: 1}.__getitem__)] == ["ol_g1", "ol_g2", "ol_g3"]


# -- the file ---------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match=r"^sqlhosts: .*nowhere cannot be read: No such file"):
        lookup(str(tmp_path / "nowhere"), "ol")
    with pytest.raises(InterfaceError, match=r"^sqlhosts: .* cannot be read: "):
        lookup(str(tmp_path), "ol")


def test_a_file_is_read_again_only_when_it_has_changed(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def counted(text: str) -> dict[str, Entry]:
        reads.append(text)
        return parse(text)

    monkeypatch.setattr(sqlhosts, "parse", counted)
    for _ in range(3):
        assert lookup(path, "ol_shop")[0].host == "db1"
    assert len(reads) == 1
    Path(path).write_text("ol_shop onsoctcp moved 9088\n", "utf-8")
    os.utime(path, ns=(1, 1))
    assert lookup(path, "ol_shop")[0].host == "moved"
    assert len(reads) == 2
