"""BINARY(n) and VARBINARY(n): keys, joins, comparisons."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, aliased, mapped_column, relationship

import aioifx
from aioifx.sqlalchemy import InformixDialect


class Uuid16(sa.TypeDecorator[uuid.UUID]):
    """A UUID as bytes, as advanced-alchemy's GUID and sqlalchemy-utils' UUIDType store it."""

    impl = sa.BINARY(16)
    cache_ok = True

    def process_bind_param(self, value: uuid.UUID | None, dialect: Any) -> Any:
        return None if value is None else value.bytes

    def process_result_value(self, value: Any, dialect: Any) -> uuid.UUID | None:
        return None if value is None else uuid.UUID(bytes=value)


class Base(DeclarativeBase):
    pass


class Part(Base):
    __tablename__ = "part"
    id: Mapped[uuid.UUID] = mapped_column(Uuid16, primary_key=True, default=uuid.uuid4)
    whole_id: Mapped[uuid.UUID | None] = mapped_column(sa.ForeignKey("part.id"))
    native: Mapped[uuid.UUID] = mapped_column(sa.Uuid(), default=uuid.uuid4, index=True)
    other: Mapped[uuid.UUID] = mapped_column(sa.Uuid(native_uuid=False), default=uuid.uuid4)
    text: Mapped[str] = mapped_column(sa.UUID(as_uuid=False), default=lambda: str(uuid.uuid4()))
    digest: Mapped[bytes | None] = mapped_column(sa.VARBINARY(4), unique=True)
    image: Mapped[bytes | None] = mapped_column(sa.BINARY)
    whole: Mapped[Part | None] = relationship(remote_side=id)


async def test_uuids_are_keys_that_are_created_found_and_joined(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine, expire_on_commit=False) as session:
        whole = Part(digest=b"\xff\x00", image=b"\x00\x01")
        part = Part(whole=whole, digest=b"\x00")
        session.add_all([whole, part])
        await session.commit()
        key, outer = part.id, aliased(Part)
        session.expunge_all()
        found = await session.get_one(Part, key)
        assert found.digest == b"\x00" and found.image is None
        for column in (Part.native, Part.other, Part.text):
            assert await session.scalar(sa.select(Part.id).where(column == getattr(found, column.key))) == key
        joined = sa.select(outer.digest, outer.image).join(Part, Part.whole_id == outer.id)
        assert (await session.execute(joined.where(Part.id.in_([key])))).all() == [(b"\xff\x00", b"\x00\x01")]
        assert (await session.scalars(sa.select(Part.digest).order_by(Part.digest))).all() == [
            b"\x00",
            b"\xff\x00",
        ]
        assert await session.scalar(sa.select(Part.id).where(Part.digest == memoryview(b"\x00"))) == key
        assert await session.scalar(sa.select(sa.cast(b"ab", sa.BINARY(4)))) == b"ab"


async def test_bytes_that_do_not_fit_are_refused_by_column(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine) as session:
        session.add(Part(digest=b"12345"))
        with pytest.raises(
            exc.DataError, match=r"column digest, parameter \d: text of 10 bytes does not fit"
        ):
            await session.flush()


@pytest.mark.parametrize("value", [5, True, [1, 2], "ab"])
def test_other_values_than_bytes_are_refused(value: Any) -> None:
    process: Any = sa.BINARY(16).dialect_impl(InformixDialect()).bind_processor(InformixDialect())
    assert process(bytearray(b"ab")) == process(memoryview(b"ab")) == "6162"
    with pytest.raises(TypeError, match=f"bytes-like object is required, not '{type(value).__name__}'"):
        process(value)


def test_literals_are_text_unless_the_type_is_byte() -> None:
    column = sa.column("digest", sa.VARBINARY(4))
    options: Any = {"literal_binds": True}
    text = str((column == b"\x0a").compile(dialect=InformixDialect(), compile_kwargs=options))
    assert text == "digest = '0a'"
    with pytest.raises(exc.CompileError):
        str(
            (sa.column("image", sa.BINARY) == b"\x0a").compile(
                dialect=InformixDialect(), compile_kwargs=options
            )
        )


@pytest.mark.parametrize("type_", [sa.BINARY(4), sa.VARBINARY(4)])
async def test_text_that_is_not_hexadecimal_is_an_error(engine: AsyncEngine, type_: Any) -> None:
    async with engine.connect() as conn:
        select = sa.select(sa.type_coerce(sa.literal_column("'00zz'"), type_)).select_from(
            sa.text("sysmaster:sysdual")
        )
        with pytest.raises(aioifx.DataError, match="expected hexadecimal digits, got other text"):
            await conn.scalar(select)
        assert await conn.scalar(sa.text("select 1 from sysmaster:sysdual")) == 1
