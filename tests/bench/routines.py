"""A FOR loop with a LET in SPL, compiled, and the same as one SELECT for each LET. Never: a time that a test asserts.

python -m tests.bench.routines [ITERATIONS]
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from time import perf_counter
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import sqlite_functions
from tests.server.talking import query, run, server_core

ITERATIONS: Final = 100_000

_BODIES: Final = {
    "LET of an INTEGER": "LET s = i + 1;",
    "LET of a DECIMAL": "LET d = i / 4 + d;",
    "LET of a text, in an IF": "IF MOD(i, 2) = 0 THEN LET t = 'n' || i; END IF;",
}


class Figure(NamedTuple):
    """One loop: its seconds for all iterations."""

    name: str
    seconds: float


def measured(iterations: int = ITERATIONS) -> list[Figure]:
    """Each loop as a compiled routine, then as statements that SQLite runs and that the engine runs."""
    figures: list[Figure] = []
    errors: list[SqlError] = []
    with server_core() as core:
        engine = core.engine()
        for number, (name, body) in enumerate(_BODIES.items()):
            declared = "DEFINE i, s INT; DEFINE d DECIMAL(16,4); DEFINE t VARCHAR(20); LET s = 0; LET d = 0;"
            loop = f"FOR i = 1 TO n {body} END FOR; RETURN s;"
            run(engine, f"CREATE FUNCTION f{number}(n INT) RETURNING INT; {declared} {loop} END FUNCTION")
            query(engine, f"EXECUTE FUNCTION f{number}(1)")
            start = perf_counter()
            query(engine, f"EXECUTE FUNCTION f{number}({iterations})")
            figures.append(Figure(name, perf_counter() - start))
        with closing(sqlite3.connect(":memory:")) as connection:
            sqlite_functions.register(connection, engine.settings, errors.append)
            start = perf_counter()
            for value in range(iterations):
                connection.execute("SELECT ifx_add(?1, 1, 131076)", (value,)).fetchone()
            figures.append(Figure("a SELECT on SQLite for each LET", perf_counter() - start))
        statement = engine.prepare("SELECT ?::INT + 1 FROM systables WHERE tabid = 1")
        share = max(iterations // 100, 1)
        start = perf_counter()
        for value in range(share):
            cursor = engine.open(statement, (value,))
            engine.fetch(cursor, 1)
            engine.close_cursor(cursor)
        figures.append(
            Figure("a SELECT of the engine for each LET", (perf_counter() - start) * iterations / share)
        )
    return figures


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ITERATIONS
    for figure in measured(count):
        print(f"{figure.name:40} {figure.seconds * 1000:10.1f} ms")
