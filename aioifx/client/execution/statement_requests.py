"""The beginning of a prepared statement's requests, and its execution without rows. Never: when they are sent."""

from __future__ import annotations

from struct import pack
from typing import Final

from aioifx.client.execution.parameters import RequestEncoder, RequestTemplate
from aioifx.wire import requests
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox

EXECUTE_EOT: Final = pack(">2H", Op.EXECUTE, Op.EOT)


def statement_request(statement_id: int) -> Outbox:
    """A new request, starting with ID."""
    outbox = Outbox()
    requests.put_id(outbox, statement_id)
    return outbox


def execute_template(encoder: RequestEncoder, statement_id: int) -> RequestTemplate:
    """Execute a statement that returns no rows.

    Wire: ID · [BIND] · EXECUTE
    Source: observed: JDBC, prepared.json
    """
    return encoder.template(statement_request(statement_id).detach(), EXECUTE_EOT)
