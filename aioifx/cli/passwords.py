"""Passwords in statements, which are asterisks wherever a statement is shown. Never: the password of a connection."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from aioifx.client.sql.scanner import TOKEN
from aioifx.client.sql.script import statements_of
from aioifx.errors import DatabaseError, point_at

_SECRET: Final = re.compile(
    r"""
    passw(?:or)?d | pwd | (?<!\w)(?:en|de)crypt_\w
  | (?<!\w)(?<!grant\s)connect\s++to\s  # however far USING is
  | (?<!\w)connect\b .{0,200}? \b(?:user|using)\b
  | ://[^\s/]*@
  | \\c[ \t]++ (?! [^\s:=]*+ [ \t\r]*+ $ )  # of the shell, with more than the name of a database
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def may_have_secrets(sql: str) -> bool:
    """Whether a text may have a password."""
    return _SECRET.search(sql) is not None


@lru_cache(maxsize=4)
def script_without_secrets(script: str) -> str:
    """A script whose statements are without secrets: a line of it may show several."""
    if not may_have_secrets(script):
        return script
    try:
        found = statements_of(script)
    except DatabaseError:  # a quote is not closed
        return without_secrets(script)
    done, pieces = 0, list[str]()
    for sql, start in found:
        pieces += (script[done:start], without_secrets(sql))
        done = start + len(sql)
    return "".join([*pieces, script[done:]])


def without_secrets(sql: str) -> str:
    """A statement as it is, or with asterisks for its strings if it may have a password."""
    if not may_have_secrets(sql):
        return sql
    return TOKEN.sub(lambda found: _masked(found[0]) if found[0][0] in "'\"" else found[0], sql)


def _masked(literal: str) -> str:
    end = literal[-1] if literal[-1] == literal[0] else "*"
    return literal[0] + "*" * (len(literal) - 2) + end if len(literal) > 1 else literal


def note_without_secrets(error: BaseException, note: str) -> str:
    """A note of an error; if it is the place in the SQL, that without secrets."""
    sql, offset = getattr(error, "sql", None) or "", getattr(error, "offset", 0)
    return point_at(without_secrets(sql), offset) if note == point_at(sql, offset) else note
