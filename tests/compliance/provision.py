"""What SQLAlchemy's suite must know of Informix: temporary tables."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import provision


@provision.temp_table_keyword_args.for_db("informix")
def temp_table_keyword_args(cfg: Any, engine: Any) -> dict[str, Any]:
    return {"prefixes": ["TEMP"]}
