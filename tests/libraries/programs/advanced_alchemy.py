"""advanced-alchemy: repositories and services of models with UUID and BIGINT keys and audit columns."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import pytest
from advanced_alchemy.base import BigIntBase, UUIDAuditBase, UUIDBase
from advanced_alchemy.exceptions import IntegrityError, NotFoundError
from advanced_alchemy.filters import BeforeAfter, CollectionFilter, LimitOffset, OrderBy, SearchFilter
from advanced_alchemy.mixins import SlugKey
from advanced_alchemy.repository import (
    SQLAlchemyAsyncRepository,
    SQLAlchemyAsyncSlugRepository,
    SQLAlchemySyncRepository,
)
from advanced_alchemy.service import SQLAlchemyAsyncRepositoryService
from advanced_alchemy.types import JsonB
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import Mapped, Session, joinedload, mapped_column, relationship

NOW = dt.datetime.now(dt.UTC)


class Author(UUIDAuditBase):
    __tablename__ = "author"
    name: Mapped[str] = mapped_column(String(40), unique=True)
    books: Mapped[list[Book]] = relationship(back_populates="author", lazy="selectin", cascade="all, delete")


class Book(BigIntBase):
    __tablename__ = "book"
    title: Mapped[str] = mapped_column(String(60))
    about: Mapped[dict[str, Any] | None] = mapped_column(JsonB)
    author_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("author.id"))
    author: Mapped[Author] = relationship(back_populates="books", lazy="noload")


class Topic(UUIDBase, SlugKey):
    __tablename__ = "topic"
    name: Mapped[str] = mapped_column(String(40))


class Authors(SQLAlchemyAsyncRepository[Author]):
    model_type = Author


class Books(SQLAlchemyAsyncRepository[Book]):
    model_type = Book


class Topics(SQLAlchemyAsyncSlugRepository[Topic]):
    model_type = Topic


class SyncAuthors(SQLAlchemySyncRepository[Author]):
    model_type = Author


class AuthorService(SQLAlchemyAsyncRepositoryService[Author, Authors]):
    repository_type = Authors
    match_fields = ("name",)


@pytest.fixture
def tables(engine):
    tables = [Author.__table__, Book.__table__, Topic.__table__]
    Author.metadata.create_all(engine, tables)
    yield
    Author.metadata.drop_all(engine, tables)


@pytest.fixture
async def session(url, tables):
    engine = create_async_engine(url)
    async with async_sessionmaker(engine, expire_on_commit=False)() as session:
        yield session
    await engine.dispose()


async def test_a_repository_adds_finds_and_pages(session):
    authors = Authors(session=session)
    added = await authors.add_many([Author(name=name) for name in ("Ada", "Grace", "Mary")], auto_commit=True)
    ada = await authors.get(added[0].id)
    assert ada.created_at.tzinfo is not None
    assert abs(NOW - ada.created_at) < dt.timedelta(minutes=5)
    page, count = await authors.get_many_and_count(OrderBy("name", "desc"), LimitOffset(2, 0))
    assert ([author.name for author in page], count) == (["Mary", "Grace"], 3)
    found = await authors.get_many(SearchFilter("name", "gRA", ignore_case=True))
    assert [author.name for author in found] == ["Grace"]
    early = BeforeAfter(
        "created_at", before=NOW + dt.timedelta(minutes=5), after=NOW - dt.timedelta(minutes=5)
    )
    assert await authors.count(early, CollectionFilter("id", [author.id for author in added[:2]])) == 2
    assert await authors.exists(name="Mary")
    assert (await authors.get_one(name="Mary")).id == added[2].id
    assert await authors.get_one_or_none(name="nobody") is None


async def test_a_repository_changes_and_deletes(session):
    authors = Authors(session=session)
    ada, grace, mary = await authors.add_many([Author(name=name) for name in ("Ada", "Grace", "Mary")])
    ada.name = "Ada L."
    updated = await authors.update(ada, auto_commit=True)
    assert (updated.name, updated.updated_at >= updated.created_at) == ("Ada L.", True)
    await authors.update_many([{"id": grace.id, "name": "Grace H."}, {"id": mary.id, "name": "Mary S."}])
    assert await authors.delete(grace.id)
    with pytest.raises(NotFoundError):
        await authors.get(grace.id)
    assert len(await authors.delete_many([ada.id])) == 1
    assert [author.name for author in await authors.get_many()] == ["Mary S."]
    await authors.delete_where(name="Mary S.", auto_commit=True)
    assert await authors.count() == 0
    await authors.add(Author(name="Ada"), auto_commit=True)
    with pytest.raises(IntegrityError):
        await authors.add(Author(name="Ada"), auto_commit=True)


async def test_relationships_are_joined(session):
    authors, books = Authors(session=session), Books(session=session)
    about = {"pages": 40, "tags": ["machine"]}
    ada = await authors.add(
        Author(name="Ada", books=[Book(title="Notes", about=about), Book(title="Letters")])
    )
    await authors.add(Author(name="Grace", books=[Book(title="Compilers")]), auto_commit=True)
    joined = select(Book).join(Author).where(Author.name == "Ada").order_by(Book.id)
    found = await books.get_many(statement=joined, load=joinedload(Book.author))
    assert [(book.title, book.author.name) for book in found] == [("Notes", "Ada"), ("Letters", "Ada")]
    assert found[0].about == about and found[1].about is None
    assert found[1].id == found[0].id + 1
    await authors.delete(ada.id, auto_commit=True)
    assert [book.title for book in await books.get_many()] == ["Compilers"]


async def test_slugs_stay_unique(session):
    topics = Topics(session=session)
    for expected in ("new-books", "new-books-"):
        slug = await topics.get_available_slug("New books")
        assert slug.startswith(expected)
        await topics.add(Topic(name="New books", slug=slug), auto_commit=True)
    assert (await topics.get_by_slug("new-books")).name == "New books"


async def test_a_service_creates_and_upserts(session):
    service = AuthorService(session=session)
    ada = await service.create({"name": "Ada"}, auto_commit=True)
    await service.upsert({"id": ada.id, "name": "Ada L."}, auto_commit=True)
    await service.upsert_many([{"name": "Ada L."}, {"name": "Mary"}], match_fields=["name"], auto_commit=True)
    assert sorted(author.name for author in await service.get_many()) == ["Ada L.", "Mary"]
    grace, created = await service.get_or_upsert(name="Grace")
    assert created and grace.name == "Grace"
    assert (await service.get_or_upsert(name="Grace"))[1] is False
    await service.delete(ada.id, auto_commit=True)
    rows, count = await service.get_many_and_count(LimitOffset(1, 1), OrderBy("name"))
    assert service.to_schema(rows, count, filters=[LimitOffset(1, 1)]).total == 2


def test_a_blocking_repository_does_the_same(engine, tables):
    with Session(engine) as session:
        authors = SyncAuthors(session=session)
        ada = authors.add(Author(name="Ada"), auto_commit=True, auto_refresh=True)
        assert authors.get(ada.id).created_at.tzinfo is not None
        assert authors.get_many_and_count(OrderBy("name"))[1] == 1
        authors.delete(ada.id, auto_commit=True)
        assert authors.count() == 0
