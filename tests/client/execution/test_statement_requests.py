from __future__ import annotations

from aioifx.client.execution.statement_requests import statement_request


def test_a_request_starts_with_the_id_of_its_statement() -> None:
    assert statement_request(258).detach() == b"\0\4\1\2"
