"""The error codes of change data capture, with hints. Never: a session.

Source: names are documented (CDC API Programmer's Guide); numbers were observed by another client on 14.10. The
server's own table, syscdcerrcodes, takes precedence, because the numbers may change (documented).
"""

from __future__ import annotations

from typing import Final

from aioifx.errors import CdcError

NAMES: Final = {
    -83701: "CDC_E_NOCDCDB",
    -83702: "CDC_E_APIVERS",
    -83703: "CDC_E_NODB",
    -83704: "CDC_E_DBNOTLOGGED",
    -83705: "CDC_E_NOTAB",
    -83706: "CDC_E_TABPROPERTIES",
    -83707: "CDC_E_NOCOL",
    -83708: "CDC_E_NOSESS",
    -83709: "CDC_E_NOREOPEN",
    -83710: "CDC_E_TABCAPTURED",
    -83711: "CDC_E_TABNOTCAPTURED",
    -83712: "CDC_E_ARGNULL",
    -83713: "CDC_E_LSN",
    -83714: "CDC_E_DIRECTION",
}
"""Numbers of which the names are known."""

LSN: Final = -83713
NO_SESSION: Final = -83708
NOT_LOGGED: Final = -83704

INSTALL: Final = (
    "the database syscdcv1 is missing; as the user informix:"
    ' dbaccess sysadmin "$INFORMIXDIR/etc/syscdcv1.sql"'
)
"""Source: documented; other clients' instructions agree."""
PRIVILEGES: Final = (
    "capture needs the user informix, or DBA on syscdcv1 and on the captured database:"
    " GRANT DBA TO <user> in each"
)
"""Source: documented for informix; observed for DBA, with another client."""

_HINTS: Final = {
    "NOCDCDB": INSTALL,
    "DBNOTLOGGED": "the database has no log; as the user informix: ondblog buf <database>, then a level-0 archive",
    "NOSESS": PRIVILEGES,
    "NOSES": PRIVILEGES,
    "NOTAB": "the table is not there under this owner; name it as database:owner.table",
    "TABPROPERTIES": "the table lacks full-row logging, which another session may have turned off, or is of a kind that"
    " cannot be captured",
    "TABCAPTURED": "the session captures the table already; name it once",
    "LSN": "the logs of this position are gone; start without a position, with snapshot=True for the rows of today",
}

_PREFIX: Final = "CDC_E_"


def cdc_error(code: int, found: tuple[str, str] | None = None, *, during: str = "") -> CdcError:
    """The exception for a code, with a hint if there is one.

    Args:
        found: its name and text, as the server has them.
        during: the routine that returned it.
    """
    name, text = found or (NAMES.get(code, ""), "")
    if name and not name.startswith(_PREFIX):
        name = _PREFIX + name
    text = text or "the server gives no text"
    name, text = name or f"{_PREFIX}?", f"{during}: {text}" if during else text
    error = CdcError(f"{name} ({code}): {text}", code=code, name=name, text=text)
    if hint := _HINTS.get(name.removeprefix(_PREFIX)):
        error.add_note(hint)
    return error
