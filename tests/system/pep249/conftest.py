"""The server of aioifx.dbapi's tests."""

from __future__ import annotations

from tests.dbapi.conftest import host as host
