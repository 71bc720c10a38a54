"""Names that are nearly right."""

from __future__ import annotations

from aioifx.client.sql.suggest import did_you_mean


def test_a_message_offers_the_most_similar_name() -> None:
    assert did_you_mean("OPTOFF", ["OPTOFC", "OPTCOMPIND"]) == "; did you mean 'OPTOFC'?"
    assert did_you_mean("XYZ", ["OPTOFC"]) == ""
