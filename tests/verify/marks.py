"""Marks of assumptions in the code and the documentation, and why some of them need no check."""

from __future__ import annotations

import ast
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
    """A line with the word."""

    id: str
    """The module and the definition that it is in or above, ``wire/tuples.py: read_row``; ``#2`` and so on for the next
    ones there. In a page of the documentation its last heading."""
    line: str


def marks() -> Iterator[Mark]:
    """All marks: of the package, by path inside it, and of the documentation, by path from the root."""
    for folder, kinds, base in (
        (_ROOT / "aioifx", (".py", ".pyx"), _ROOT / "aioifx"),
        (_ROOT / "docs", (".md",), _ROOT),
    ):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(base).as_posix()
            if path.suffix in kinds and not name.startswith(_OWN) and name not in ABOUT_THE_WORD:
                yield from _marks_in(name, path.read_text("utf-8"))


def _marks_in(module: str, text: str) -> Iterator[Mark]:
    count: dict[str, int] = {}
    lines = text.splitlines()
    tree = ast.parse(text) if module.endswith(".py") and _ASSUMED.search(text) else None
    for number, line in enumerate(lines, start=1):
        if _ASSUMED.search(line):
            place = _place(tree.body, number, "") if tree is not None else _heading(lines[:number])
            key = f"{module}: {place}" if place else module
            count[key] = count.get(key, 0) + 1
            yield Mark(key if count[key] == 1 else f"{key} #{count[key]}", line.strip())


def _place(body: list[ast.stmt], line: int, outer: str) -> str:
    """The name of the definition that a line is in, or else of the one that ends before it or begins after it.

    A comment is above what it is about, and the docstring of a constant after it.
    """
    before = ""
    for statement in body:
        name = _name(statement)
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if (statement.end_lineno or 0) < line:
            before = name or before
            continue
        if is_docstring and statement.lineno <= line:
            return outer if statement is body[0] else _joined(outer, before)
        if not name or statement.lineno > line:
            return _joined(outer, name)  # above it, or inside a statement without a name
        if isinstance(statement, ast.ClassDef):
            return _place(statement.body, line, _joined(outer, name))
        return _joined(outer, name)
    return outer


def _joined(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer and name else outer or name


def _name(statement: ast.stmt) -> str:
    match statement:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return statement.name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _heading(lines: list[str]) -> str:
    """The last heading of a page, or the last function of a module in Cython."""
    for line in reversed(lines):
        if found := re.match(r"#+ (.+)|(?:cp?def|def|cdef class) .*?(\w+)\(", line.strip()):
            return found[1] or found[2]
    return ""


_PUSH_REFUSALS = "any other answer is an error, with the server's text"
_MAKES_NO_ROUTINE = "needs a routine on the server, which verify does not make"

REASONS = {
    # -- nothing of a server ------------------------------------------------------------------------------------------
    "channel.py: Channel.send_urgent": "about sockets of Windows, not about servers",
    "dbapi/loop_thread.py: _POLL": "about signals of Windows, not about servers",
    "client/bulk/text_formats.py": "dbaccess reads UNLOAD files, not the server",
    "client/config/environment.py": "the order of JDBC; servers accept any",
    "server/sql/complex_types.py: _WIDTH": "aioifx ignores the length, and takes any",
    "server/catalog/sysrows.py: _syssequences_row": "any number is right",
    "server/catalog/sysrows.py": "any number is right",
    "server/sql/translate/spl_compiler.py": _MAKES_NO_ROUTINE,
    "server/engine/spl.py: SplHost.select": _MAKES_NO_ROUTINE,
    "server/sql/translate/spl_program.py: _range": _MAKES_NO_ROUTINE,
    "server/engine/spl.py: SplHost.immediate": _MAKES_NO_ROUTINE,
    "server/engine/spl.py: SplHost.system": _MAKES_NO_ROUTINE,
    "server/engine/spl_dynamic.py": _MAKES_NO_ROUTINE,
    "server/engine/spl_dynamic.py: ILLEGAL": _MAKES_NO_ROUTINE,
    "server/engine/spl_dynamic.py: prepared": _MAKES_NO_ROUTINE,
    "server/engine/workspace.py: Workspace.end_transaction": _MAKES_NO_ROUTINE,
    "server/sql/model/spl.py: SplRoutine.columns": _MAKES_NO_ROUTINE,
    "server/sql/runtime/collection_variables.py": _MAKES_NO_ROUTINE,
    "server/sql/runtime/strings.py: with_part": _MAKES_NO_ROUTINE,
    "server/sql/translate/routines.py: creation": _MAKES_NO_ROUTINE,
    "server/sql/translate/spl_compiler.py: RoutineCompiler._resuming": _MAKES_NO_ROUTINE,
    "server/sql/translate/from_clause.py: FromClause._rows_of_routine": _MAKES_NO_ROUTINE,
    "server/sql/translate/local_variables.py": _MAKES_NO_ROUTINE,
    "server/sql/translate/spl_source.py: _with_field": _MAKES_NO_ROUTINE,
    "server/sql/translate/spl_dynamic.py: DynamicSource._fetch": _MAKES_NO_ROUTINE,
    "server/catalog/systables.py: _SYSMASTER_FIRST": "any number is right",
    "server/engine/sysmaster.py: _PARAMETERS": "values differ from server to server",
    "server/engine/sysmaster.py: _PROFILED": "aioifx reads none of them",
    "server/sql/runtime/sqlite_extras.py": "routines that JDBC alone calls",
    "wire/requests.py: _read_autogenkeys": "JDBC's request, which aioifx does not send",
    "wire/routines.py": _MAKES_NO_ROUTINE,
    "wire/routines.py: RoutineParameter.mode": _MAKES_NO_ROUTINE,
    "wire/objects.py: put_read_object": "a request that aioifx does not send",
    "server/protocol/fast_path.py": "no client uses them",
    "server/protocol/client_files.py: _failure": "no client was seen to show it",
    "server/protocol/complex_fields.py": "a binary form that aioifx neither asks for nor sends",
    "sqlalchemy/catalog.py: temp_table_names": "reflection finds nothing there",
    "server/catalog/sysrows.py: _fragment_rows": "dbspaces differ from server to server",
    "server/sql/translate/ddl.py: _create_table_as #2": "aioifx runs a statement of any type",
    "server/sql/translate/ddl.py: _rename_constraint": "aioifx runs a statement of any type",
    "server/sql/translate/view_texts.py": "aioifx shows the text as it is",
    # -- what no check may or can do ----------------------------------------------------------------------------------
    "server/engine/object_files.py: ServerFiles.write": "it would write a file on the server's host",
    "server/engine/object_files.py: unique_name": "it would leave a file on the server's host",
    "server/engine/firing.py: Firing.is_untouched": "what triggers do on the server; aioifx creates none",
    "server/engine/engine.py: Engine._fire_selection": "what triggers do on the server; aioifx creates none",
    "server/sql/runtime/encryption.py": "no one reads the bytes but the server",
    "server/engine/triggers.py: activated": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/triggers.py": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/routines.py: execution": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/select_triggers.py": "what triggers do on the server; aioifx creates none",
    "server/sql/translate/triggers.py: _Translator._into": "what triggers do on the server; aioifx creates none",
    "server/engine/engine.py: Engine._is_avoided": "it would write a file on the server's host",
    "server/engine/external_tables.py": "it needs a file on the server's host",
    "server/sql/translate/external_tables.py": "it would write a file on the server's host",
    "server/engine/filtering.py": "it would change modes of objects on the server",
    "server/sql/translate/filtering.py: require_no_violations_table": "it would change modes of objects on the server",
    "server/sql/translate/violations_tables.py": "if it is refuted, tables are left behind",
    "server/sqlite/databases.py: Databases.create": "if it is refuted, a database is left behind",
    "codecs/text.py: _PYTHON_CODECS": "it needs a database of each such locale",
    "codecs/base.py: MAX_SIZE": "it needs a value of 2 GB",
    "client/config/options.py: ConnectOptions.client_code_set": "it needs a user with a name that is not ASCII",
    "client/config/addresses.py: redirect_target": "it needs a server that redirects logins",
    "wire/handshake.py: _login_reply": "it needs a server that redirects logins",
    "client/session/settings.py: SessionSettings.on_database_opened": "no query shows them; they are set again",
    "client/connect/pam.py: PamConversation._encoded": "it needs a PAM port and an answer that is not ASCII",
    "wire/challenges.py: read_pam_reply": "it needs a PAM port that fails",
    "server/protocol/session.py: Session._run_pam": "aioifx offers 44 if it has a handler",
    "server/protocol/oob.py: INTERRUPT": "it could end the session of a real server",
    "server/protocol/session.py: Session.interrupt": "it could end the process that accepts logins",
    "server/engine/control_statements.py: _set_lock_option": "a setting that aioifx does not send",
    "server/engine/reads.py: Reads.changing": "it needs a second session with locks",
    "server/sqlite/lock_testing.py: Access.KEY": "it needs a second session with locks",
    "server/engine/write_refusals.py": "it needs a secondary server",
    "server/catalog/cdc_tables.py": "aioifx does not read syscdcpacketschemes",
    "server/engine/cdc_routines.py: start_capture": "aioifx turns full-row logging on first",
    "server/engine/cdc_routines.py: error_text": "aioifx reads syscdcerrcodes instead",
    "server/engine/cdc_rows.py: CapturedTable": "aioifx leaves such columns out",
    "server/engine/cdc_rows.py: CapturedTable.row_of_syscdctabs": "aioifx does not read it",
    "server/engine/cdc_session.py: CdcSession.row_of_syscdcsess": "aioifx does not read it",
    "server/engine/cdc_session.py: CdcSession._records_of_change": "a check would alter a table with a capture",
    "server/engine/write_refusals.py: check_definition": "it needs the privilege to capture, and alters a table",
    "server/engine/push_queries.py: _REFUSED": "a ROW that a server pushes is read as well",
    "server/engine/push_queries.py: _bare_texts": _PUSH_REFUSALS,
    "server/engine/push_queries.py: _OTHERS": _PUSH_REFUSALS,
    "server/engine/push_queries.py: _check_columns": _PUSH_REFUSALS,
    "server/engine/push_queries.py: _check_names": _PUSH_REFUSALS,
    "server/engine/push_sessions.py: reason": _PUSH_REFUSALS,
    "server/engine/push_sessions.py: Registration.is_delimident": "aioifx sends the query as the user writes it",
    "server/engine/push_tasks.py": _PUSH_REFUSALS,
    "pushdata/session.py: _positive": _PUSH_REFUSALS,
    "docs/reference/push-data.md: Where the facts are from": "as in the modules",
    # -- variations that clients must survive, rather than assumptions ------------------------------------------------
    "server/protocol/quirks.py": "about the quirks below",
    "client/config/dsn.py": "about JDBC's URLs, not about servers",
    "cdc/session.py: CdcSession.present": "a position that is too early gives changes again, which the snapshot has",
    "cdc/snapshot.py": "it needs two sessions with transactions; see cdc-timeout-record",
    "docs/reference/changes.md: Where the facts are from": "as in codecs/cdc_rows.py and codecs/cdc_records.py",
    "codecs/cdc_rows.py: _LOCATOR": "aioifx does not read the four bytes",
    "client/execution/read_again.py: _may_read_again": "about what applications define, not about servers",
    "server/protocol/quirks.py: Quirk.COUNT_WITH_EACH_BLOCK": "a variation; see done-ends-rows",
    "server/protocol/quirks.py: Quirk.DROPPED_VALUES": "a variation; see optofc-keeps-large-values",
    "server/protocol/quirks.py: Quirk.SEPARATE_RET_TYPE": "a variation; see ret-type-with-open",
    "server/protocol/quirks.py: Quirk.ERROR_ON_RELEASE": "a variation; aioifx ignores the error",
    "server/protocol/quirks.py: Quirk.NO_AUTOFREE": "a variation; see autofree-releases",
    "server/protocol/quirks.py: Quirk.SILENT_EXIT": "a variation; any end will do",
    "server/protocol/quirks.py: Quirk.LARGE_BLOCKS": "a variation; see fetch-size-in-force",
    "server/protocol/quirks.py: Quirk.NULL_SERIALS": "a variation; both forms are read",
    "server/protocol/quirks.py: Quirk.NO_SERIALS": "a variation; both forms are read",
    "server/protocol/quirks.py: Quirk.NO_PUT": "a variation; see failed-put",
}
"""Marks without a check, and why."""
