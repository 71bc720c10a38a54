"""A script cut into statements by the client's own tokens. Never: what a statement means, the file of a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aioifx.client.sql.scanner import TOKEN
from aioifx.errors import from_server
from aioifx.scripts import Piece, only_sql, split

_OPEN: Final = {"'": ("'", -282), '"': ('"', -282), "{": ("}", -283), "/*": ("*/", -943)}
"""How tokens that are closed begin and end, and the SQLCODE for one that is not."""


def statements_of(script: str) -> list[tuple[str, int]]:
    """The statements of a script, terminated by ``;`` (not included), with the start of each, from 0.

    Bodies of routines keep their semicolons. Lines of dbschema and of shells that are not SQL are skipped.

    Raises:
        SQLSyntaxError: a string or comment is not closed; its `sql` is the script, and nothing has been sent.
    """
    return list(split(script, _pieces(script)))


def unclosed(token: str) -> int:
    """The SQLCODE for a string or comment that is not closed; 0 for any other token."""
    closing, sqlcode = _OPEN.get(token[:2]) or _OPEN.get(token[0]) or ("", 0)
    return sqlcode if len(token) < 2 * len(closing) or not token.endswith(closing) else 0


def _pieces(script: str) -> Iterator[Piece]:
    for token in TOKEN.finditer(only_sql(script)):
        text = token[0]
        if sqlcode := unclosed(text):
            raise from_server(sqlcode, 0, offset=token.start() + 1, sql=script)
        if not token["skipped"]:
            word = token["word"]
            yield Piece(word.lower() if word else text if text == ";" else "", token.start(), token.end())
