"""The report as JSON: every check, and nothing of the database."""

from __future__ import annotations

import json

from aioifx.server import running
from aioifx.verify import verify
from aioifx.verify.report import as_json


async def test_a_report_has_every_check_and_no_names_of_the_server() -> None:
    async with running(
        database="secretdb",
        user="secretuser",
        password="secretpw",
        server_name="secretserver",
        quirks=["no-optofc"],
    ) as dsn:
        report = await verify(dsn, only=["optofc-closes", "decimal-rounds-half-up", "ansi-needs-commit"])
    text = as_json(report)
    assert "secret" not in text
    assert "127.0.0.1" not in text
    found = json.loads(text)
    assert {check["name"]: check["outcome"] for check in found["checks"]} == {
        "optofc-closes": "refuted",
        "ansi-needs-commit": "could not be tried",
        "decimal-rounds-half-up": "held",
    }
    assert found["server_version"] == report.server_version
    assert found["log_mode"] == "logged"
    refuted = found["checks"][0]
    assert refuted["detail"] == "with OPTOFC=1 the reply with the last rows had no SQ_CLOSE"
    messages = [event["name"] for event in refuted["trace"] if event.get("kind") == "sent"]
    assert messages.count("SQ_NFETCH") >= 2
    assert "SQ_EXECUTE" not in messages  # the rows of the table
    assert all("trace" not in check for check in found["checks"][1:])
    assert refuted["marks"] == ["client/config/environment.py: session_pairs"]
