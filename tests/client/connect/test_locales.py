"""Text arrives unchanged or is rejected, whichever locales are given; and the database's locale is found."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import aioifx
import aioifx.server
from aioifx.client.connect import locales
from aioifx.client.connect.login import LoginAttempt
from aioifx.codecs.text import code_set_of
from aioifx.errors import ConnectError, DataError, LocaleError
from aioifx.server import Server, ServerOptions
from aioifx.testing.messages import EOT, LOGGED, error
from aioifx.testing.script import END_SESSION, Peer, listening, login
from aioifx.wire.opcodes import OpenWarning
from tests.client.connect.test_connect import login_request, options_for
from tests.wire.frames import frames

LATIN_1, UTF_8 = "en_US.8859-1", "en_US.utf8"
NAMED = (None, LATIN_1, UTF_8)


@pytest.fixture(autouse=True)
def nothing_is_known() -> Iterator[None]:
    locales._known.clear()
    yield
    locales._known.clear()


class Forgetful(dict[Any, str]):
    """What is known, forgotten as soon as it was looked for: another thread may clear it at any time."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found


async def test_another_thread_may_forget_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locales, "_known", Forgetful())
    async with aioifx.server.running(db_locale=UTF_8) as dsn:
        for _ in range(2):
            async with aioifx.connect(bare(dsn), locale="auto") as conn:
                assert await conn.fetchval("SELECT 'ä' FROM systables WHERE tabid = 1") == "ä"


def test_jdbc_sends_text_in_the_code_set_of_the_database() -> None:
    for case, encoded in (
        ("client_8859_1_database_utf8", "utf-8"),
        ("client_utf8_database_8859_1", "latin-1"),
    ):
        sent = b"".join(frame.data for frame in frames("locales") if (frame.case, frame.side) == (case, "C"))
        assert sent.count("Müller".encode(encoded)) == 2  # a parameter and a literal


def code_set(*names: str | None) -> str:
    return code_set_of(next(name for name in (*names, LATIN_1) if name)).codec


COMBINATIONS = list(itertools.product(NAMED, NAMED, (LATIN_1, UTF_8)))


def bare(dsn: str) -> str:
    """The address without the locales."""
    return dsn.partition("&client_locale")[0]


@pytest.mark.parametrize(("client", "database", "real"), COMBINATIONS)
async def test_text_is_stored_as_it_was_or_refused(
    client: str | None, database: str | None, real: str
) -> None:
    options: dict[str, Any] = {"client_locale": client, "db_locale": database}
    async with aioifx.server.running(db_locale=real) as dsn:
        if code_set(database, client) != code_set(real):
            with pytest.raises(LocaleError) as caught:
                await aioifx.connect(bare(dsn), **options)
            assert caught.value.sqlcode == -23197
            return
        async with aioifx.connect(bare(dsn), **options) as conn:
            await conn.execute("create table t (id int, v varchar(7))")
            await conn.execute("insert into t values (1, ?)", "Müller")
            await conn.execute("insert into t values (2, 'Müller')")
            if code_set(real) == "utf-8":
                await conn.execute("insert into t values (3, ?)", "😀")
                await conn.execute("insert into t values (4, '😀')")
            else:
                for sql, values in (
                    ("insert into t values (3, ?)", ["😀"]),
                    ("insert into t values (4, '😀')", []),
                ):
                    with pytest.raises(DataError):
                        await conn.execute(sql, *values)
            seen = await conn.fetch("select v from t order by id")
            sizes = await conn.fetch("select char_length(v), octet_length(v) from t where id < 3")
        async with aioifx.connect(dsn) as conn:
            assert await conn.fetch("select v from t order by id") == seen
    assert [v for (v,) in seen] == ["Müller", "Müller", "😀", "😀"][: len(seen)]
    assert sizes == [(6, 7 if code_set(real) == "utf-8" else 6)] * 2


@pytest.mark.parametrize(("client", "database"), [*itertools.product(NAMED, NAMED)])
async def test_a_date_in_text_is_the_same_with_and_without_a_locale(
    client: str | None, database: str | None
) -> None:
    real = database or client or LATIN_1
    async with aioifx.server.running(db_locale=real) as dsn:
        async with aioifx.connect(bare(dsn), client_locale=client, db_locale=database) as conn:
            await conn.execute("create temp table d (d date)")
            await conn.execute("insert into d values ('2026-01-02')")
            assert await conn.fetchval("select extend(d, year to day) || '' from d") == "2026-01-02"


# -- what the login says ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "database", "sent"),
    [
        (None, None, (LATIN_1, LATIN_1)),
        (None, UTF_8, (UTF_8, UTF_8)),
        (UTF_8, None, (UTF_8, UTF_8)),
        (LATIN_1, UTF_8, (LATIN_1, UTF_8)),
    ],
)
async def test_both_locales_are_sent_whatever_is_given(
    client: str | None, database: str | None, sent: tuple[str, str]
) -> None:
    peer = Peer([*login(), END_SESSION], with_login=True)
    async with listening(peer) as listener:
        async with aioifx.connect(**options_for(listener.port, client_locale=client, db_locale=database)):
            pass
    said = dict(login_request(peer.groups[0]).environment)
    assert (said[b"CLIENT_LOCALE"].decode(), said[b"DB_LOCALE"].decode()) == sent
    assert said[b"DBDATE"] == b"Y4MD-"


# -- locale="auto" ----------------------------------------------------------------------------------------------------


@pytest.fixture
async def greek() -> AsyncIterator[Server]:
    async with aioifx.server.serve(ServerOptions(("greek:el_GR.utf8", "plain"))) as server:
        yield server


def logins(server: Server) -> int:
    return server.stats.logins


async def test_the_locale_is_found_with_one_more_connection_once_in_a_process(greek: Server) -> None:
    dsn = bare(greek.dsn)
    async with aioifx.connect(dsn, locale="auto") as conn:
        await conn.execute("create table t (v varchar(20))")
        await conn.execute("insert into t values (?)", "Ωμέγα")
        assert logins(greek) == 2
    async with aioifx.connect(dsn, locale="auto") as conn:
        assert await conn.fetchval("select v from t") == "Ωμέγα"
    assert logins(greek) == 3
    async with aioifx.connect(dsn, database="plain", locale="auto") as conn:
        assert await conn.fetchval("select 'é' from sysmaster:sysdual") == "é"
    assert logins(greek) == 5


async def test_a_locale_that_is_given_is_tried_first(greek: Server) -> None:
    async with aioifx.connect(greek.dsn, locale="auto"):
        assert logins(greek) == 1
    async with aioifx.connect(bare(greek.dsn), db_locale="en_US.819", locale="auto") as conn:
        assert await conn.fetchval("select 'Ω' from sysmaster:sysdual") == "Ω"
        assert logins(greek) == 4  # refused, asked, let in


async def test_a_pool_asks_once(greek: Server) -> None:
    async with aioifx.create_pool(bare(greek.dsn), locale="auto", min_size=3, max_size=3) as pool:
        await pool.wait_ready(20)
        async with pool.acquire() as conn:
            assert await conn.fetchval("select 'Ω' from sysmaster:sysdual") == "Ω"
        assert logins(greek) == 4


async def test_a_locale_that_no_longer_holds_is_queried_again(greek: Server) -> None:
    dsn = bare(greek.dsn)
    async with aioifx.connect(dsn, locale="auto"):
        pass
    (key,) = locales._known
    locales._known[key] = "en_US.819"  # as if the database had been made again
    async with aioifx.connect(dsn, locale="auto") as conn:
        assert await conn.fetchval("select 'Ω' from sysmaster:sysdual") == "Ω"


async def test_a_database_that_does_not_exist_is_named(greek: Server) -> None:
    with pytest.raises(ConnectError, match="nowhere") as caught:
        await aioifx.connect(greek.dsn, database="nowhere", client_locale=None, locale="auto")
    assert caught.value.sqlcode == -329


async def test_without_a_database_nothing_is_query_locale(greek: Server) -> None:
    async with aioifx.connect(bare(greek.dsn).replace("/greek", ""), locale="auto"):
        assert logins(greek) == 1


async def test_a_question_that_fails_is_a_connect_error() -> None:
    asked = Peer([*login(), (None, error(-206, -111) + EOT), END_SESSION], with_login=True)
    async with listening(Peer(), asked) as listener:
        with pytest.raises(ConnectError, match="locale could not be queried"):
            await aioifx.connect(**options_for(listener.port, locale="auto"))
        await asyncio.wait_for(asked.gone.wait(), 10)
    said = dict(login_request(asked.groups[0]).environment)
    assert b"DB_LOCALE" not in said  # the server's own


IGNORED = [*login(warnings=LOGGED | OpenWarning.LOCALE_IGNORED), END_SESSION]


async def found(answer: str, monkeypatch: pytest.MonkeyPatch, *peers: Peer, **options: Any) -> str:
    """Connect to servers that ignore the locale; which code set the connection has."""

    async def asked(attempt: LoginAttempt, password: str) -> str:
        return answer

    monkeypatch.setattr(locales, "query_locale", asked)
    async with listening(*peers) as listener:
        async with aioifx.connect(**options_for(listener.port, **options)) as conn:
            return conn._session.code_set.codec


async def test_a_locale_that_is_ignored_is_refused_if_text_would_be_stored_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(LocaleError, match=r"database stores has the locale el_GR\.57372; set db_locale"):
        await found("el_GR.57372", monkeypatch, Peer(IGNORED[:-1], with_login=True))


async def test_an_ignored_locale_of_the_same_code_set_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await found("de_DE.819", monkeypatch, Peer(IGNORED, with_login=True)) == "latin-1"


async def test_an_ignored_locale_is_corrected_where_it_can_be_queried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peers = Peer(IGNORED[:-1], with_login=True), Peer([*login(), END_SESSION], with_login=True)
    codec = await found("el_GR.57372", monkeypatch, *peers, locale="auto", db_locale="en_US.819")
    assert codec == "utf-8"
    assert (b"DB_LOCALE", b"el_GR.57372") in login_request(peers[1].groups[0]).environment


async def test_a_locale_that_is_unknown_here_is_a_locale_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LocaleError, match=r"'tlh\.klingon', whose code set is not supported"):
        await found("tlh.klingon", monkeypatch, Peer(), locale="auto")
