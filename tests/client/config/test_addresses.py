"""Lists of hosts, the fields of a redirect, and which redirects are followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.config.addresses import Address, addresses, is_allowed, names_in, redirect_target
from aioifx.errors import InterfaceError

# -- hosts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        ("db1", ["db1:9088"]),
        ("db1:1526", ["db1:1526"]),
        ("db1,db2:9089, db3", ["db1:9088", "db2:9089", "db3:9088"]),
        ("::1", ["[::1]:9088"]),
        ("fe80::1%eth0", ["[fe80::1%eth0]:9088"]),
        ("[::1]", ["[::1]:9088"]),
        ("[::1]:1526,10.0.0.1", ["[::1]:1526", "10.0.0.1:9088"]),
        ("db1:", ["db1:9088"]),
    ],
)
def test_hosts_form_a_list_each_with_its_port_or_the_common_one(hosts: str, found: list[str]) -> None:
    assert [str(address) for address in addresses(hosts, 9088, "ol")] == found


def test_one_server_name_is_for_all_hosts_and_several_are_one_each() -> None:
    assert [address.server for address in addresses("a,b,c", 1, "ol")] == ["ol", "ol", "ol"]
    assert [address.server for address in addresses("a,b", 1, "ol_a, ol_b")] == ["ol_a", "ol_b"]
    with pytest.raises(InterfaceError, match=r"^server: expected one name or 3, one for each host, got 2"):
        addresses("a,b,c", 1, "ol_a,ol_b")


@pytest.mark.parametrize(
    "hosts",
    [
        "",
        ",",
        "a,",
        "a b",
        "u:secret@h",
        "a:secret",
        "a:0",
        "a:65536",
        "a:٣",
        "a,::1",
        "[::1",
        "[::1]secret",
        "a/secret",
        "a:1:secret,b",
    ],
)
def test_an_invalid_list_of_hosts_is_rejected_without_being_shown(hosts: str) -> None:
    with pytest.raises(InterfaceError, match=r"^(host|port): ") as caught:
        addresses(hosts, 9088, "ol")
    assert "secret" not in str(caught.value)


# Law: any text is a list of addresses or refused, and what an address is written as, is read again.
@given(st.text(st.sampled_from("ab1:,[]. %@/"), max_size=20))
def test_any_text_is_a_list_of_addresses_or_refused(hosts: str) -> None:
    try:
        found = addresses(hosts, 9088, "ol")
    except InterfaceError:
        return
    assert found and all(1 <= address.port <= 65535 and address.host for address in found)
    assert addresses(",".join(map(str, found)), 1, "ol") == found


def test_an_empty_name_between_commas_is_refused_by_the_options_name() -> None:
    assert names_in("server", "a , b") == ("a", "b")
    with pytest.raises(InterfaceError, match=r"^server: expected names separated by commas"):
        names_in("server", "a,,b")


# -- redirects --------------------------------------------------------------------------------------------------------


def test_a_redirect_names_server_host_and_port() -> None:
    expected = Address("db7", 9090, "ol_other")
    assert redirect_target("g=ol_other|db7|9090") == redirect_target("ol_other|db7|9090") == expected


@pytest.mark.parametrize("text", ["ol|db7|9090", "ol:db7:9090", "ol=db7|9090", "ol=db7:9090", "ol|db7=9090"])
def test_a_redirect_is_three_parts_as_jdbc_splits_them(text: str) -> None:
    assert redirect_target(text) == Address("db7", 9090, "ol")


def test_a_redirect_may_name_an_ipv6_address_between_bars() -> None:
    assert redirect_target("g=ol|::1|9090") == redirect_target("ol|::1|9090") == Address("::1", 9090, "ol")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g=",
        "g=ol",
        "g=ol|db7",
        "g=|db7|9090",
        "g=ol||9090",
        "g=ol|db7|",
        "g=ol|db7|sqlexec",
        "g=ol|db7|0",
        "g=ol|db7|99999",
        "g=ol|db7|9090|x",
        "g:ol:db7:9090",
        "ol:db7",
        "ol=db7=x",
        "ol|d\0b7|9090",
        "g=ol|u@db7|9090",
        "g=ol|db 7|9090",
        "g=ol|a,b|9090",
        "\0\xff",
        "o\x1bl|db7|9090",
    ],
)
def test_a_redirect_of_another_form_leads_nowhere(text: str) -> None:
    assert redirect_target(text) is None


# Law: whatever a server sends, an address with a usable host and port comes of it, or None.
@given(st.text(max_size=40) | st.text(st.sampled_from("a=|1:,"), max_size=20))
def test_any_redirect_is_understood_or_not(text: str) -> None:
    target = redirect_target(text)
    assert target is None or (target.host and target.server and 1 <= target.port <= 65535)


@pytest.mark.parametrize(
    ("host", "patterns", "allowed"),
    [
        ("db7", "", False),
        ("db7", "db7", True),
        ("DB7", "db7", True),
        ("db77", "db7", False),
        ("db7.example.com", "*.example.com", True),
        ("example.com.evil.net", "*.example.com", False),
        ("10.0.0.7", "db*, 10.0.0.[5-9]", True),
        ("anything", "*", True),
    ],
)
def test_only_hosts_that_a_pattern_fits_are_allowed(host: str, patterns: str, allowed: bool) -> None:
    assert is_allowed(host, patterns) == allowed
