"""The option timezone: the zone of DATETIMEs, which hold none. Never: how a DATETIME is encoded.

Invariants:
1. A value that is stored is a time of the zone; what is read is the stored time, with the zone attached.
2. The fold of a repeated time is not stored: it is read as the first one, fold=0.
3. A time that the zone skips is read as it is stored; Python takes it with the offset before the gap (documented: PEP
   495).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import TypeVar

from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Value

T = TypeVar("T")


def time_zone(option: object) -> dt.tzinfo | None:
    """The zone that the option names; None without it.

    Raises:
        InterfaceError: neither the name of a known zone nor a usable tzinfo.
    """
    if option is None or option == "UTC":
        return None if option is None else dt.UTC
    if isinstance(option, str):
        from zoneinfo import ZoneInfo  # rarely needed

        try:
            return ZoneInfo(option)
        except (LookupError, OSError, ValueError):
            raise InterfaceError(
                f"timezone: expected an IANA name such as Europe/Berlin, got {option!r:.40}"
            ) from None
    # An object of pytz has the right offset only after its own `localize`.
    if not isinstance(option, dt.tzinfo) or hasattr(option, "localize"):
        kind = type(option)
        raise InterfaceError(
            f"timezone: expected an IANA name or a tzinfo such as ZoneInfo, got {kind.__module__}.{kind.__name__}"
        )
    return option


def in_zone(value: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """An aware datetime as a naive time of *zone*; without an offset, it stays as it is.

    Raises:
        DataError: outside the years 1 to 9999 there.
    """
    try:
        if value.tzinfo is not zone and value.utcoffset() is None:
            return value
        return value.astimezone(zone).replace(tzinfo=None)
    except Exception as error:
        raise DataError("aware datetime: outside the years 1 to 9999 in the option timezone") from error


def attaching(read: Callable[[T], Value], zone: dt.tzinfo) -> Callable[[T], Value]:
    """*read*, whose naive datetimes become aware."""

    def read_aware(data: T) -> Value:
        value = read(data)
        return value.replace(tzinfo=zone) if value.__class__ is dt.datetime else value

    return read_aware


def arrow_zone(zone: dt.tzinfo) -> str:
    """The zone's name in Arrow, whose timestamps count from 1970 in UTC; UTC for a zone without a name."""
    name = getattr(zone, "key", None)
    if name is None and isinstance(zone, dt.timezone):
        sign, offset = "+-"[(since := zone.utcoffset(None)) < dt.timedelta()], abs(since)
        hours, rest = divmod(offset, dt.timedelta(hours=1))
        minutes, rest = divmod(rest, dt.timedelta(minutes=1))
        name = f"{sign}{hours:02}:{minutes:02}" if offset and not rest else None
    return name or "UTC"
