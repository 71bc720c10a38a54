"""Marks of assumptions in the code and the documentation, and why some of them need no check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
_ASSUMED = re.compile(r"\bassumed\b", re.IGNORECASE)
_OWN = ("verify/", "cli/verify.py")
"""Modules that speak of marks."""
ABOUT_THE_WORD = {
    "docs/development/contributing.md",
    "docs/development/decisions/0005-precedent-on-the-wire.md",
    "docs/development/glossary.md",
    "docs/development/modules.md",
    "docs/explanation/the-wire.md",
    "docs/howto/verify.md",
}
"""Pages that explain the word."""


class Mark(NamedTuple):
    """A line with the word, joined with the next one."""

    module: str
    line: str
    text: str

    def is_named(self, key: str) -> bool:
        """Whether ``module: words`` names this mark."""
        module, _, words = key.partition(": ")
        return module == self.module and words in self.text


def marks() -> Iterator[Mark]:
    """All marks: of the package, by path inside it, and of the documentation, by path from the root."""
    for folder, kinds, base in (
        (_ROOT / "aioifx", (".py", ".pyx"), _ROOT / "aioifx"),
        (_ROOT / "docs", (".md",), _ROOT),
    ):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(base).as_posix()
            if path.suffix in kinds and not name.startswith(_OWN) and name not in ABOUT_THE_WORD:
                yield from _marks_in(name, path.read_text("utf-8").splitlines())


def _marks_in(module: str, lines: list[str]) -> Iterator[Mark]:
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _ASSUMED.search(line):
            yield Mark(module, line.strip(), f"{line.strip()} {following.strip()}")


_MAKES_NO_ROUTINE = "needs a routine on the server, which verify does not make"

REASONS = {
    # -- nothing of a server ------------------------------------------------------------------------------------------
    "channel.py: That it works there is assumed": "about sockets of Windows, not about servers",
    "dbapi/loop_thread.py: assumed for Windows": "about signals of Windows, not about servers",
    "client/bulk/text_formats.py: assumed to leave it unchanged": "dbaccess reads UNLOAD files, not the server",
    "client/config/environment.py: order of names that share a bucket": "the order of JDBC; servers accept any",
    "server/sql/complex_types.py: what JDBC accepts": "aioifx ignores the length, and takes any",
    "server/catalog/sysrows.py: seqid, any number": "any number is right",
    "server/catalog/routines.py: sizes and costs are 0": "any number is right",
    "server/sql/translate/spl_compiler.py: the offsets of errors": _MAKES_NO_ROUTINE,
    "server/engine/spl.py: a query without rows": _MAKES_NO_ROUTINE,
    "server/sql/translate/spl_program.py: a bound that is NULL": _MAKES_NO_ROUTINE,
    "server/catalog/systables.py: their tabids differ from release to release": "any number is right",
    "server/sql/runtime/sqlite_extras.py: what the routines": "routines that JDBC alone calls",
    "wire/requests.py: by position (assumed": "JDBC's request, which aioifx does not send",
    "wire/objects.py: kind 1 is assumed": "a request that aioifx does not send",
    "server/protocol/fast_path.py: Results that no client was seen to use": "no client uses them",
    "server/protocol/client_files.py: its ISAM code is what a client sends": "no client was seen to show it",
    "server/protocol/complex_fields.py: a nested value is": "a binary form that aioifx neither asks for nor sends",
    "sqlalchemy/catalog.py: old servers lack its column sid": "reflection finds nothing there",
    "server/catalog/sysrows.py: an index without a clause has one row": "dbspaces differ from server to server",
    "server/sql/translate/ddl.py: the type of a SELECT INTO": "aioifx runs a statement of any type",
    "server/sql/translate/ddl.py: the type of the statement is that of RENAME": "aioifx runs a statement of any type",
    "server/sql/translate/view_texts.py: the spelling of the changed text": "aioifx shows the text as it is",
    # -- what no check may or can do ----------------------------------------------------------------------------------
    "server/engine/object_files.py: it cannot be written": "it would write a file on the server's host",
    "server/engine/object_files.py: The number of digits is assumed": "it would leave a file on the server's host",
    "server/engine/firing.py: none of a table into which": "what triggers do on the server; aioifx creates none",
    "server/engine/triggers.py: others by trigid": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/instead.py: a column that an INSERT": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/routine_calls.py: the code without": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/triggers.py: -684 and -685": "what triggers do on the server; aioifx creates none",
    "server/sqlite/databases.py: -354, invalid name": "if it is refuted, a database is left behind",
    "codecs/text.py: and that gb means what Python calls gbk": "it needs a database of each such locale",
    "codecs/base.py: Largest size of a field on the wire": "it needs a value of 2 GB",
    "client/config/options.py: Encoding of text in the login": "it needs a user with a name that is not ASCII",
    "client/config/addresses.py: as another client reads it": "it needs a server that redirects logins",
    "wire/handshake.py: assumed: a login string": "it needs a server that redirects logins",
    "client/session/settings.py: settings may not survive a database switch": "no query shows them; they are set again",
    "client/connect/pam.py: in the client's code set": "it needs a PAM port and an answer that is not ASCII",
    "wire/challenges.py: An SQ_ERR in it is assumed": "it needs a PAM port that fails",
    "server/protocol/session.py: capability 44 is refused by SQ_EXIT": "aioifx offers 44 if it has a handler",
    "server/protocol/oob.py: urgent data with another value is ignored": "it could end the session of a real server",
    "server/protocol/session.py: ignored before the login": "it could end the process that accepts logins",
    "server/engine/control_statements.py: -999, another value": "a setting that aioifx does not send",
    "server/engine/reads.py: under COMMITTED READ at least": "it needs a second session with locks",
    "server/sqlite/lock_testing.py: for equal values": "it needs a second session with locks",
    "server/engine/write_refusals.py: the SQLCODE of a refused definition": "it needs a secondary server",
    # -- variations that clients must survive, rather than assumptions ------------------------------------------------
    "server/protocol/quirks.py: those that are assumed say why": "about the quirks below",
    "client/config/dsn.py: that loginTimeout is in milliseconds": "about JDBC's URLs, not about servers",
    "client/execution/read_again.py: no view that it names": "about what applications define, not about servers",
    "server/protocol/quirks.py: another client": "a variation; see done-ends-rows",
    "server/protocol/quirks.py: the manual names no": "a variation; see optofc-keeps-large-values",
    "server/protocol/quirks.py: no client sends it there": "a variation; see ret-type-with-open",
    "server/protocol/quirks.py: FREE of": "a variation; aioifx ignores the error",
    "server/protocol/quirks.py: servers before 7.24 do not have it": "a variation; see autofree-releases",
    "server/protocol/quirks.py: clients that close at once do not miss it": "a variation; any end will do",
    "server/protocol/quirks.py: FET_BUF_SIZE may be set for the server": "a variation; see fetch-size-in-force",
    "server/protocol/quirks.py: INT8 and BIGINT have a form for NULL": "a variation; both forms are read",
    "server/protocol/quirks.py: its purpose is the value": "a variation; both forms are read",
    "server/protocol/quirks.py: only JDBC with IFX_USEPUT": "a variation; see failed-put",
}
"""Marks without a check, and why."""
