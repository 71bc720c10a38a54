"""Why a connection fails, step by step, and which locks caused an error. Never: the embedded server."""

from __future__ import annotations

import sys as _sys

from aioifx.client.connect.locks import LockDiagnosis, LockSession, TableLock
from aioifx.client.pool.locks import diagnose_locks
from aioifx.diagnosis.report import DiagnosisChange, DiagnosisReport, DiagnosisStep
from aioifx.diagnosis.run import diagnose

__all__ = [
    "DiagnosisChange",
    "DiagnosisReport",
    "DiagnosisStep",
    "LockDiagnosis",
    "LockSession",
    "TableLock",
    "diagnose",
    "diagnose_locks",
]

# Tracebacks, reprs and pickles show the public path, so that the defining modules can move. What globals() has may be
# an import that is lazy.
for _name in __all__:
    getattr(_sys.modules[__name__], _name).__module__ = __name__
