"""Lists and descriptions of what a database has. Never: how a row is printed, completion."""

from __future__ import annotations

from typing import Final

from aioifx.catalog.description import describe
from aioifx.cli.description_text import description_lines
from aioifx.cli.output import terminal_width
from aioifx.cli.shell.execution import run_statement
from aioifx.cli.shell.pages import pages
from aioifx.cli.shell.state import Shell

_TABLES: Final = (
    "SELECT TRIM(t.owner) AS owner, t.tabname AS name, CASE t.tabtype WHEN 'T' THEN 'table' WHEN 'E' THEN"
    " 'external table' WHEN 'V' THEN 'view' WHEN 'Q' THEN 'sequence' ELSE 'synonym' END AS kind"
    " FROM informix.systables t WHERE t.tabid >= 100 AND t.tabtype IN ({}) AND LOWER(t.tabname) MATCHES ?"
    " ORDER BY t.tabname, t.owner"
)
LISTS: Final = {
    "d": _TABLES.format("'T', 'E', 'V', 'S', 'P', 'Q'"),
    "dt": _TABLES.format("'T', 'E'"),
    "dv": _TABLES.format("'V'"),
    "df": "SELECT TRIM(p.owner) AS owner, p.procname AS name, CASE WHEN p.isproc = 't' THEN 'procedure' ELSE 'function'"
    " END AS kind, p.paramtypes::lvarchar AS parameters FROM informix.sysprocedures p"
    " WHERE p.mode IN ('D', 'O', 'R', 'T') AND LOWER(p.procname) MATCHES ? ORDER BY p.procname, p.owner",
    "di": "SELECT TRIM(i.owner) AS owner, TRIM(i.idxname) AS name, t.tabname AS on_table, CASE i.idxtype WHEN 'U' THEN"
    " 'unique' ELSE 'duplicates' END AS kind FROM informix.sysindexes i, informix.systables t"
    " WHERE t.tabid = i.tabid AND t.tabid >= 100 AND LOWER(i.idxname) MATCHES ? ORDER BY t.tabname, i.idxname",
    "l": "SELECT d.name, TRIM(d.owner) AS owner, CASE WHEN d.is_ansi = 1 THEN 'ansi' WHEN d.is_logging = 1 THEN"
    " 'logged' ELSE 'unlogged' END AS log_mode, TRIM(l.dbs_collate) AS locale FROM sysmaster:sysdatabases d,"
    " sysmaster:sysdbslocale l WHERE l.dbs_dbsname = d.name AND d.name MATCHES ? ORDER BY d.name",
}
"""Queries by command, each with a placeholder for a pattern of MATCHES: ``*`` and ``?``.

Routines of the server have small letters as their mode (documented: sysprocedures.mode).
"""


async def show_list(shell: Shell, name: str, pattern: str) -> None:
    """Print a list of `LISTS`.

    Args:
        pattern: of names; empty for all.
    """
    await run_statement(shell, LISTS[name], (pattern.lower() or "*",))


async def show_description(shell: Shell, name: str, *, only: str = "") -> None:
    """Print what a table, view, synonym or sequence is.

    Args:
        only: the title of the one part that is wanted; empty for all.

    Raises:
        UndefinedTable: there is none of that name.
    """
    found = await describe(shell.connection, name)
    width = None if shell.out else terminal_width()
    async with pages(shell.out, shell.interrupts, is_paged=shell.is_paged) as lines:
        await lines.write([*description_lines(found, width, only)] or [(("(none)", "dim"),)])
