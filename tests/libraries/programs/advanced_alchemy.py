"""advanced-alchemy: repositories and services of models with UUID keys and audit columns."""

from __future__ import annotations

import datetime as dt

import pytest
from advanced_alchemy.base import BigIntAuditBase, UUIDAuditBase
from advanced_alchemy.exceptions import IntegrityError, NotFoundError
from advanced_alchemy.filters import LimitOffset, OrderBy, SearchFilter
from advanced_alchemy.repository import SQLAlchemyAsyncRepository, SQLAlchemySyncRepository
from advanced_alchemy.service import SQLAlchemyAsyncRepositoryService
from sqlalchemy import ForeignKey, String
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship


class Author(UUIDAuditBase):
    __tablename__ = "author"
    name: Mapped[str] = mapped_column(String(40), unique=True)
    books: Mapped[list["Book"]] = relationship(back_populates="author", lazy="selectin")


class Book(BigIntAuditBase):
    __tablename__ = "book"
    title: Mapped[str] = mapped_column(String(60))
    author_id: Mapped[object] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books", lazy="joined")


class Authors(SQLAlchemyAsyncRepository[Author]):
    model_type = Author


class SyncAuthors(SQLAlchemySyncRepository[Author]):
    model_type = Author


class AuthorService(SQLAlchemyAsyncRepositoryService[Author, Authors]):
    repository_type = Authors


@pytest.fixture
def tables(engine):
    tables = [Author.__table__, Book.__table__]
    Author.metadata.create_all(engine, tables)
    yield
    Author.metadata.drop_all(engine, tables)


def test_a_repository_adds_finds_changes_and_deletes(engine, tables):
    with Session(engine) as session:
        repository = SyncAuthors(session=session)
        added = repository.add_many([Author(name=name) for name in ("Ada", "Grace", "Mary")])
        repository.session.commit()
        ada = repository.get(added[0].id)
        assert ada.created_at.tzinfo is not None
        assert abs(dt.datetime.now(dt.timezone.utc) - ada.created_at) < dt.timedelta(minutes=5)
        ada.books.append(Book(title="Notes"))
        session.commit()
        assert session.query(Book).one().author.id == ada.id
        page, count = repository.list_and_count(OrderBy("name", "desc"), LimitOffset(2, 0))
        assert ([author.name for author in page], count) == (["Mary", "Grace"], 3)
        found = repository.list(SearchFilter("name", "gRA", ignore_case=True))
        assert [author.name for author in found] == ["Grace"]
        repository.delete(found[0].id)
        session.commit()
        assert repository.count() == 2
        with pytest.raises(NotFoundError):
            repository.get(found[0].id)
        with pytest.raises(IntegrityError):
            repository.add(Author(name="Ada"))


async def test_a_service_creates_and_upserts(url, tables):
    engine = create_async_engine(url)
    async with async_sessionmaker(engine)() as session:
        service = AuthorService(session=session)
        ada = await service.create({"name": "Ada"}, auto_commit=True)
        await service.upsert({"id": ada.id, "name": "Ada L."}, auto_commit=True)
        assert [author.name for author in await service.list()] == ["Ada L."]
        author, created = await service.get_or_upsert(name="Grace")
        assert created and author.name == "Grace"
    await engine.dispose()
