"""What aioifx assumes of servers, tried at a server: `verify`, and its report. Never: a server of its own."""

from __future__ import annotations

from aioifx.verify.check import Check, Outcome
from aioifx.verify.checks import CHECKS
from aioifx.verify.run import Finding, Report, verify

__all__ = ["CHECKS", "Check", "Finding", "Outcome", "Report", "verify"]

# Tracebacks, reprs and pickles show the public path, so that the defining modules can move.
for _item in (Check, Finding, Outcome, Report, verify):
    _item.__module__ = __name__
