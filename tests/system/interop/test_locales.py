"""Text through IBM's JDBC driver and informix-driver: each sends what aioifx, in the database's locale, reads again."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import informix_db
import pytest

import aioifx
import aioifx.server
from aioifx.codecs.text import code_set_of
from tests.system.interop.jdbc import Fields, Jdbc, failing

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LATIN_1, UTF_8 = "en_US.8859-1", "en_US.utf8"
NAMED = (None, LATIN_1, UTF_8)
DDL = "create table t (id int, v varchar(7))"


def codec(locale: str) -> str:
    return code_set_of(locale).codec


async def stored(dsn: str) -> list[Any]:
    """What aioifx reads in the database's locale."""
    async with aioifx.connect(dsn) as conn:
        return [v for (v,) in await conn.fetch("select v from t order by id")]


def url_of(dsn: str, client: str | None, database: str | None) -> str:
    options = aioifx.parse_dsn(dsn)
    named = {"CLIENT_LOCALE": client, "DB_LOCALE": database}
    locales = "".join(f";{name}={value}" for name, value in named.items() if value)
    return (
        f"jdbc:informix-sqli://{options.host}:{options.port}/{options.database}:INFORMIXSERVER={options.server}"
        f";user=u;password=p{locales}"
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("client", "database", "real"), [*itertools.product(NAMED, NAMED, (LATIN_1, UTF_8))])
async def test_jdbcs_text_is_stored_as_it_was_or_refused(
    jdbc: Jdbc, client: str | None, database: str | None, real: str
) -> None:
    async def ask(*fields: object) -> list[Fields]:
        return await asyncio.to_thread(jdbc, *fields)

    async with aioifx.server.running(db_locale=real) as dsn:
        if database is not None and codec(database) != codec(real):
            assert (await failing(ask, "connect", "l", url_of(dsn, client, database))).code == -23197
            return
        await ask("connect", "l", url_of(dsn, client, database))
        try:
            await ask("update", "l", DDL)
            await ask("prepare", "l", "s", "insert into t values (?, ?)")
            texts = ["Müller", "😀"] if codec(real) == "utf-8" else ["Müller"]
            for number, text in enumerate(texts):
                await ask("set", "s", 1, "int", 2 * number)
                await ask("set", "s", 2, "string", text)
                await ask("run", "s")
                await ask("update", "l", f"insert into t values ({2 * number + 1}, '{text}')")
            await ask("release", "s")
            seen = [row[1] for row in await ask("query", "l", "select v from t order by id") if row[0] == "="]
        finally:
            await ask("close", "l")
        assert seen == await stored(dsn) == [text for text in texts for _ in range(2)]


@pytest.mark.parametrize(("client", "real"), [*itertools.product(NAMED, (LATIN_1, UTF_8))])
async def test_informix_drivers_parameters_are_stored_as_they_were_where_its_locale_is_the_databases(
    client: str | None, real: str
) -> None:
    """It names no DB_LOCALE, and sends parameters in the code set of its CLIENT_LOCALE; a server cannot know more."""
    texts = ["Müller", "😀"] if codec(client or LATIN_1) == "utf-8" else ["Müller"]

    def insert() -> None:
        options = aioifx.parse_dsn(dsn)
        given: dict[str, Any] = {} if client is None else {"client_locale": client}
        login: dict[str, Any] = {
            "user": "u",
            "password": "p",
            "database": options.database,
            "server": options.server,
        }
        with informix_db.connect(options.host, options.port, **login, **given) as conn:
            cursor = conn.cursor()
            cursor.execute(DDL)
            conn.commit()
            for number, text in enumerate(texts):
                cursor.execute("insert into t values (?, ?)", (number, text))
            conn.commit()

    async with aioifx.server.running(db_locale=real) as dsn:
        if codec(client or LATIN_1) == codec(real):
            await asyncio.to_thread(insert)
            assert await stored(dsn) == texts
        elif codec(real) == "utf-8":
            with pytest.raises(informix_db.Error, match="-415"):  # the bytes are not UTF-8
                await asyncio.to_thread(insert)
        else:
            await asyncio.to_thread(insert)
            assert await stored(dsn) == [text.encode("utf-8").decode("latin-1") for text in texts]
