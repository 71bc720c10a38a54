"""Runs checks on a connection, one after another, and reports their outcomes. Never: what a check does."""

from __future__ import annotations

import asyncio
import json
import platform
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.connect.connect import connect
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    Error,
    InterfaceError,
    NotSupportedError,
    ProtocolError,
    QueryTimeout,
)
from aioifx.verify.check import Check, Outcome
from aioifx.verify.checks import CHECKS
from aioifx.verify.lab import CannotTry, Lab, Refuted, describe_error
from aioifx.verify.redaction import CheckTrace

_OPTIONS: Final[dict[str, Any]] = {"command_timeout": 20.0, "lock_wait": 5, "statement_cache_size": 0}
"""Options of the connection, unless the caller gives others."""
_CHECK_TIMEOUT: Final = 90.0
"""Seconds for one check."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check."""

    check: Check
    outcome: Outcome
    detail: str
    """Why it was refuted or could not be tried; empty if it held."""
    seconds: float
    trace: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """Of a refuted check: the messages of its connections in the types of JSON, without values and names."""


@dataclass(slots=True)
class Report:
    """The outcomes of all checks at one server."""

    server_version: str
    """As sent at login."""
    log_mode: str
    """Logging mode of the database: "logged", "ansi" or "unlogged"."""
    capabilities: tuple[str, ...]
    """The capabilities in force, by their names in `aioifx`."""
    findings: list[Finding] = field(default_factory=list[Finding])
    left_behind: list[str] = field(default_factory=list[str])
    """Statements of cleanup that failed, with their SQLCODEs; empty if nothing was left at the server."""

    def of(self, outcome: Outcome) -> list[Finding]:
        """The findings with this outcome."""
        return [finding for finding in self.findings if finding.outcome is outcome]

    @property
    def is_proven(self) -> bool:
        """Whether no check was refuted."""
        return not self.of(Outcome.REFUTED)


async def verify(
    dsn: str | None = None,
    *,
    only: Sequence[str] = (),
    on_finding: Callable[[Finding], None] | None = None,
    **options: Any,
) -> Report:
    """Try at a server what aioifx assumes of servers.

    Each check runs in a transaction that is rolled back, with temporary objects where possible. Others have a prefix
    that is unique to the run, and are dropped. CONNECT and RESOURCE suffice; checks that need more are not tried.

    Args:
        dsn: as for `aioifx.connect`; the database may be any in which you may create tables. With *trace*, the report
            holds no traces.
        options: as for `aioifx.connect`; the database may be any in which you may create tables. With *trace*, the
            report holds no traces.
        only: names of checks, or patterns such as ``*interrupt*``; empty for all.
        on_finding: called after each check.

    Raises:
        InterfaceError: no check has such a name.
        DatabaseError: the first connection failed, or after a lost connection the next one. Notes of any exception name
            what was left at the server.
    """
    return await try_checks(select_checks(only), dsn, on_finding=on_finding, **options)


async def try_checks(
    checks: Sequence[Check],
    dsn: str | None = None,
    *,
    on_finding: Callable[[Finding], None] | None = None,
    **options: Any,
) -> Report:
    """`verify` with these checks."""
    trace = CheckTrace()
    merged: dict[str, Any] = {**_OPTIONS, "trace": trace.add, "trace_values": False, **options}

    async def open_connection(**others: Any) -> Connection[Any]:
        return await connect(dsn, **{**merged, **others})

    lab = Lab(open_connection, f"aioifx_{secrets.token_hex(3)}_", forget=trace.clear)
    conn = await lab.open()
    report = Report(
        conn.server_version, conn.log_mode or "", _capabilities_of(conn), left_behind=lab.left_behind
    )
    try:
        for check in checks:
            finding = await _try_check(lab, check, trace)
            report.findings.append(finding)
            if on_finding is not None:
                on_finding(finding)
        await lab.close()
    except BaseException as error:
        await lab.abandon()
        for statement in lab.left_behind:
            error.add_note(f"left behind: {statement}")
        raise
    return report


def select_checks(only: Sequence[str]) -> list[Check]:
    """The checks whose names match one of the patterns; all for none.

    Raises:
        InterfaceError: a pattern matches none.
    """
    for pattern in only:
        if not any(fnmatchcase(check.name, pattern) for check in CHECKS):
            raise InterfaceError(f"only: expected names of checks, got {pattern!r}; --list shows them")
    return [
        check for check in CHECKS if not only or any(fnmatchcase(check.name, pattern) for pattern in only)
    ]


def _capabilities_of(conn: Connection[Any]) -> tuple[str, ...]:
    capabilities = statements_of(conn).session.conversation.capabilities
    return tuple(name for name in capabilities.__slots__ if getattr(capabilities, name) is True)


async def _try_check(lab: Lab, check: Check, trace: CheckTrace) -> Finding:
    trace.clear()
    started = time.monotonic()
    outcome, detail = await _outcome(lab, check)
    if outcome is Outcome.REFUTED and not lab.is_connected:  # a network may fail at any time
        trace.clear()
        outcome, detail = await _outcome(lab, check)
    messages = trace.redacted() if outcome is Outcome.REFUTED else ()
    return Finding(check, outcome, detail, time.monotonic() - started, messages)


async def _outcome(lab: Lab, check: Check) -> tuple[Outcome, str]:
    await lab.open()
    try:
        async with asyncio.timeout(_CHECK_TIMEOUT):
            await lab.start(in_transaction=check.in_transaction)
            await check.run(lab)
        found = Outcome.HELD, ""
    except Refuted as refutation:
        found = Outcome.REFUTED, str(refutation)
    except CannotTry as obstacle:
        found = Outcome.NOT_TRIED, str(obstacle)
    except QueryTimeout:
        found = await _outcome_of_timeout(lab)
    except DatabaseError as error:
        found = _outcome_of_error(lab, error)
    except (InterfaceError, NotSupportedError) as error:
        found = Outcome.NOT_TRIED, _impossible(error)
    except TimeoutError:
        found = Outcome.REFUTED, f"it did not end within {_CHECK_TIMEOUT:g} s"
        lab.terminate()
    except Exception as error:  # a defect of the check must not stop the others
        found = Outcome.NOT_TRIED, f"the check failed: {type(error).__name__}"
    await lab.clean()
    return found


def _impossible(error: Error) -> str:
    """Without the message, which may name a server."""
    return f"aioifx cannot do it: {type(error).__name__}"


async def _outcome_of_timeout(lab: Lab) -> tuple[Outcome, str]:
    """The outcome of a check with a statement that took too long: the server is slow, or waits for more bytes."""
    try:
        await lab.conn.ping()
    except DatabaseError:
        return Outcome.REFUTED, "a request was not answered, nor was it interrupted"
    return Outcome.NOT_TRIED, "a statement took longer than its time limit"


def _outcome_of_error(lab: Lab, error: DatabaseError) -> tuple[Outcome, str]:
    """The outcome of a check that ended with an error it does not expect."""
    if isinstance(error, NotSupportedError) and not error.sqlcode:
        return Outcome.NOT_TRIED, _impossible(error)
    if lab.is_unable(error):
        return Outcome.NOT_TRIED, describe_error(error)
    if isinstance(error, ProtocolError):
        return Outcome.REFUTED, f"a reply could not be read: {error}"
    if isinstance(error, ConnectionLost):
        return Outcome.REFUTED, "the connection was lost"
    return Outcome.REFUTED, f"it ended with {describe_error(error)}"


def as_json(report: Report) -> str:
    """The report as text; the same names as in `Report` and `Finding`."""
    return json.dumps(as_dict(report), indent=2, ensure_ascii=False) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "aioifx": _version(),
        "python": platform.python_version(),
        "system": platform.system(),
        "server_version": report.server_version,
        "log_mode": report.log_mode,
        "capabilities": list(report.capabilities),
        "left_behind": report.left_behind,
        "checks": [_finding_as_dict(finding) for finding in report.findings],
    }


def _finding_as_dict(finding: Finding) -> dict[str, Any]:
    check = finding.check
    found: dict[str, Any] = {
        "name": check.name,
        "outcome": finding.outcome.value,
        "fact": check.fact,
        "detail": finding.detail,
        "marks": list(check.marks),
        "seconds": round(finding.seconds, 3),
    }
    return found | {"trace": list(finding.trace)} if finding.trace else found


def _version() -> str:
    try:
        return version("aioifx")
    except PackageNotFoundError:  # run from its source, not installed
        return ""
