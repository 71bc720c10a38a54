"""A report as JSON, ready for an issue. Never: names, literals or addresses that are not aioifx's own."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from aioifx.verify.run import Finding, Report


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
