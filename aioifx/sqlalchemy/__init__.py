"""SQLAlchemy's dialect for Informix, with asyncio and without. Never: a message of SQLI.

create_async_engine("informix+aioifx://app:secret@db1:9088/shop?server=ol_shop")
create_engine("informix+aioifx://app:secret@db1:9088/shop?server=ol_shop")
"""

from __future__ import annotations

from aioifx.sqlalchemy.dialect import AsyncInformixDialect, InformixDialect

__all__ = ["AsyncInformixDialect", "InformixDialect"]
