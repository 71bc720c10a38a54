"""Names of the ways in which change data capture may differ; `protocol.quirks` has their evidence. Never: behaviour."""

from __future__ import annotations

from typing import Final

LITTLE_ENDIAN: Final = "cdc-little-endian"
CUT_RECORDS: Final = "cdc-cut-records"
SEVERAL_RECORDS: Final = "cdc-several-records"
HELD_BACK: Final = "cdc-held-back"
LONG_HEADERS: Final = "cdc-long-headers"
NUL_AFTER_COLUMNS: Final = "cdc-nul-after-columns"
DISCARDS: Final = "cdc-discards"
INTERLEAVED: Final = "cdc-interleaved"
FOREIGN_ROWS: Final = "cdc-foreign-rows"
DEAD_SESSION: Final = "cdc-dead-session"
INFORMIX_ONLY: Final = "cdc-informix-only"
