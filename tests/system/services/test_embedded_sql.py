"""The page on the SQL of the embedded server: each of its examples has the state that the page says."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import aioifx
from aioifx import Connection, Record
from aioifx.errors import DatabaseError, NotSupportedError
from aioifx.server import Server, ServerOptions, serve
from aioifx.server.catalog.systables import DATABASE_TABLES
from aioifx.server.sql.syntax.parser import split_script
from aioifx.server.sql.translate.builtins import ROUTINES
from tests.server.talking import query, server_core

PAGE: Final = (Path(__file__).parents[3] / "docs" / "reference" / "embedded-sql.md").read_text("utf-8")
TABLES: Final = re.findall(r"^```sql\n(.*?)^```", PAGE, re.M | re.S)[0]
STATES: Final = ("supported", "no effect", "refused", "empty")

AS_STATEMENTS: Final = {
    "statement": "...",
    "type": "CREATE TABLE example (a ...)",
    "expression": "SELECT ... FROM item",
    "in a routine": "CREATE PROCEDURE example() DEFINE n INT; DEFINE s VARCHAR(20); DEFINE c SET(INT NOT NULL); ..."
    " END PROCEDURE; EXECUTE PROCEDURE example()",
    "table": "SELECT FIRST 1 1 FROM ...",
    "table of sysmaster": "SELECT FIRST 1 1 FROM sysmaster:...",
    "table of syscdcv1": "SELECT FIRST 1 1 FROM syscdcv1:...",
}
"""By the heading of a table's second column: the script that an example is."""


class Example(NamedTuple):
    """An example of the page."""

    kind: str
    code: str
    state: str
    extra: str
    """The extra of aioifx that it needs."""


def examples() -> Iterator[Example]:
    """All examples of the tables that have one of the kinds."""
    kind = ""
    for line in PAGE.splitlines():
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if not line:
            kind = ""
        elif cells[-1] == "state":
            kind = cells[1]
        elif kind and line.startswith("| "):
            what, codes, state = cells
            extra = "".join(re.findall(r"`aioifx\[(.*)\]`", what))
            for code in re.findall(r"`(.*?)`|<code>(.*?)</code>", codes):
                yield Example(kind, html.unescape("".join(code)), state, extra)


EXAMPLES: Final = [*examples()]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server whose first database has the tables of the page; it has one copy of it for queries."""
    async with serve(ServerOptions(("template",), seed=TABLES)) as server:
        server.create_database("queried", copy_of="template")
        yield server


async def outcome(conn: Connection[Record], example: Example, script: str) -> str:
    """What the server does with the last statement of an example."""
    *before, last = [sql for sql, _ in split_script(script)]
    rows: Sequence[object] = ()
    try:
        for sql in before:
            await conn.execute(sql)
        if last.startswith("SELECT"):
            rows = await conn.fetch(last)
        else:
            await conn.execute(last)
    except NotSupportedError as error:
        assert error.sqlcode == -999, (example, error)
        assert error.sql == last or example.kind == "in a routine", example
        return "refused"
    except DatabaseError as error:
        return str(error)
    return "empty" if example.kind.startswith("table") and not rows else "accepted"


async def outcome_in_a_copy(server: Server, name: str, example: Example, script: str) -> str:
    """The same in a database of its own, of that name."""
    await asyncio.to_thread(partial(server.create_database, name, copy_of="template"))
    async with aioifx.connect(server.dsn_of(name)) as conn:
        found = await outcome(conn, example, script)
    if "CREATE DATABASE" in script:
        with suppress(DatabaseError):  # the example has dropped it, or was refused
            await server.drop_database("d")
    return found


async def wrong_states(server: Server, kinds: Iterable[str]) -> list[tuple[Example, str]]:
    """The examples of these kinds whose state is not that of the page, with what the server does."""
    wrong: list[tuple[Example, str]] = []
    async with aioifx.connect(server.dsn_of("queried")) as queried:
        for number, example in enumerate(EXAMPLES):
            if example.kind not in kinds:
                continue
            script = AS_STATEMENTS[example.kind].replace("...", example.code)
            is_read = script.startswith("SELECT") and " INTO " not in script
            if is_read or (example.state == "refused" and len([*split_script(script)]) == 1):
                found = await outcome(queried, example, script)
            else:
                found = await outcome_in_a_copy(server, f"copy{number}", example, script)
            if example.extra and find_spec("cryptography") is None:
                continue  # of server-crypto, the only extra
            if found != ("accepted" if example.state in ("supported", "no effect") else example.state):
                wrong.append((example, found))
    return wrong


# Not one test with parameters, of which the default suite would keep a sample.
async def test_each_statement_has_the_state_that_the_page_says(server: Server) -> None:
    assert await wrong_states(server, ["statement"]) == []


async def test_each_other_example_has_the_state_that_the_page_says(server: Server) -> None:
    assert await wrong_states(server, AS_STATEMENTS.keys() - {"statement"}) == []


def test_each_kind_of_table_has_examples_of_it() -> None:
    kinds = {example.kind for example in EXAMPLES}
    assert kinds == AS_STATEMENTS.keys()
    assert {example.state for example in EXAMPLES} == {*STATES}
    assert len(EXAMPLES) > 350


def test_each_function_and_each_table_of_the_catalog_is_on_the_page() -> None:
    text = " ".join(example.code for example in EXAMPLES if example.kind == "expression").lower()
    assert {name for name in ROUTINES if f"{name}(" not in text} == set()
    listed = {example.code for example in EXAMPLES if example.kind == "table"}
    with server_core() as core:
        found = query(
            core.engine(), "SELECT tabname FROM systables WHERE tabid < 100 AND tabname LIKE 'sys%'"
        )
    assert {name for (name,) in found} == listed
    for database, tables in DATABASE_TABLES.items():
        listed = {example.code for example in EXAMPLES if example.kind == f"table of {database}"}
        assert listed == tables.keys()
