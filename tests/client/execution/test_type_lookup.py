"""Fields of types from their descriptions, and from rows of the catalog as servers have them."""

from __future__ import annotations

import asyncio

import pytest

from aioifx.client.execution.type_lookup import KnownTypes, resolved_types
from aioifx.codecs.type_text import MAX_FIELDS, MAX_TEXT
from aioifx.sqltypes import DISTINCT, NOT_NULL, Row, SqlType, TypeCode
from tests.codecs.samples import INTEGER, LVARCHAR

NAMED_ROW = 0x1000
PERSON = SqlType(TypeCode.ROW, 0, 2049, "me", "person_t", flags=NAMED_ROW)
OFFER = SqlType(TypeCode.UDTVAR, 0, 2050, "me", "offer", source=25, flags=DISTINCT)


def catalog_row(*values: object) -> Row:
    return values


PERSON_ROWS = [
    catalog_row(2049, "me      ", "person_t", 0x1016, 0, 1, 0, None, 0x1016, 42, 0),
    catalog_row(2049, "me      ", "person_t", 0x1016, 0, 2, 1, "name", 13, 20, 0),
    catalog_row(2049, "me      ", "person_t", 0x1016, 0, 3, 1, "tags", 19, 0, 2051),
    catalog_row(2049, "me      ", "person_t", 0x1016, 0, 4, 1, "size", 5 | NOT_NULL, 0x0802, 0),
]
TAGS_ROWS = [
    catalog_row(2051, "me", None, 19, 0, 1, 0, None, 19, 0, 0),
    catalog_row(2051, "me", None, 19, 0, 2, 1, None, 40 | NOT_NULL, 30, 1),
]


class Catalog:
    """Answers with the rows of the ids that a query names."""

    def __init__(self, *rows: Row) -> None:
        self.rows = rows
        self.queries: list[str] = []

    async def __call__(self, sql: str) -> list[Row]:
        self.queries.append(sql)
        ids = {int(one) for one in sql.partition(" in (")[2].partition(")")[0].split(",")}
        return [row for row in self.rows if row[0] in ids]


def outline(sql_type: SqlType) -> object:
    return [(field.name, str(field.type), field.nullable, outline(field.type)) for field in sql_type.fields]


async def test_ordinary_types_are_left_alone() -> None:
    catalog = Catalog()
    assert await resolved_types([INTEGER, LVARCHAR], {}, catalog) is None
    assert catalog.queries == []


async def test_a_type_whose_name_describes_it_needs_no_catalog() -> None:
    catalog = Catalog()
    described = SqlType(TypeCode.LIST, 0, 2060, "", "LIST(ROW(a integer) not null)")
    found = await resolved_types([INTEGER, described], {}, catalog)
    assert found is not None
    assert found[0] is INTEGER
    assert outline(found[1]) == [("", "ROW(A INTEGER)", False, [("a", "INTEGER", True, [])])]
    assert catalog.queries == []


async def test_a_named_row_is_looked_up_once_with_the_types_of_its_fields() -> None:
    catalog, known = Catalog(*PERSON_ROWS, *TAGS_ROWS), KnownTypes()
    for _ in range(2):
        found = await resolved_types([PERSON], known, catalog)
        assert found is not None
        assert (found[0].extended_name, found[0].flags) == ("person_t", NAMED_ROW)
        assert outline(found[0]) == [
            ("name", "VARCHAR(20)", True, []),
            ("tags", "SET", True, [("", "LVARCHAR(30)", False, [])]),
            ("size", "DECIMAL(8,2)", False, []),
        ]
    assert len(catalog.queries) == 2
    assert "(2049)" in catalog.queries[0] and "(2051)" in catalog.queries[1]


async def test_a_look_up_that_fails_is_repeated() -> None:
    async def fail(sql: str) -> list[Row]:
        raise asyncio.CancelledError

    known = KnownTypes()
    with pytest.raises(asyncio.CancelledError):
        await resolved_types([PERSON], known, fail)
    found = await resolved_types([PERSON], known, Catalog(*PERSON_ROWS, *TAGS_ROWS))
    assert found is not None
    assert [field.name for field in found[0].fields] == ["name", "tags", "size"]


async def test_the_catalog_may_leave_out_the_row_of_the_type_itself() -> None:
    rows = [
        (2049, "me", "person_t", 22, 0, 1, 0, "name", 13, 20, 0),
        (2049, "me", "person_t", 22, 0, 2, 0, "age", 2, 4, 0),
    ]
    found = await resolved_types([PERSON], {}, Catalog(*rows))
    assert found is not None
    assert [field.name for field in found[0].fields] == ["name", "age"]


async def test_a_distinct_type_is_like_its_base() -> None:
    catalog = Catalog(
        (2050, "me", "offer", 40 | DISTINCT, 25, None, None, None, None, None, None),
        (25, "informix", "json", 40, 0, None, None, None, None, None, None),
        (2052, "me", "boss_t", 22 | DISTINCT, 2049, None, None, None, None, None, None),
        *PERSON_ROWS,
    )
    boss = SqlType(TypeCode.ROW, 0, 2052, "me", "boss_t", source=2049, flags=DISTINCT)
    found = await resolved_types([OFFER, boss], {}, catalog)
    assert found is not None
    assert (found[0].extended_name, found[0].opaque_name) == ("offer", "json")
    assert [field.name for field in found[1].fields] == ["name", "tags", "size"]


async def test_a_collection_of_a_named_type_is_looked_up() -> None:
    people = SqlType(TypeCode.LIST, 0, 2053, "", "LIST(person_t not null)")
    catalog = Catalog((2053, "", None, 21, 0, 1, 0, None, 22 | NOT_NULL, 0, 2049), *PERSON_ROWS)
    found = await resolved_types([people], {}, catalog)
    assert found is not None
    assert [field.name for field in found[0].fields[0].type.fields] == ["name", "tags", "size"]
    assert not found[0].fields[0].nullable


@pytest.mark.parametrize("rows", [[], [(2049, "me", "person_t", 22, 0, None, None, None, None, None, None)]])
async def test_a_type_that_the_catalog_does_not_know_stays_as_it_is(rows: list[Row]) -> None:
    catalog, known = Catalog(*rows), KnownTypes()
    for _ in range(2):
        assert await resolved_types([PERSON], known, catalog) == (PERSON,)
    assert len(catalog.queries) == 1


async def test_a_circular_catalog_ends() -> None:
    rows = [
        (2049, "me", "person_t", 22, 0, 1, 0, "again", 22, 0, 2049),
        (2050, "", "x", 40, 2050, *[None] * 6),
    ]
    found = await resolved_types([PERSON, OFFER], {}, Catalog(*rows))
    assert found is not None
    depth, sql_type = 0, found[0]
    while sql_type.fields:
        depth, sql_type = depth + 1, sql_type.fields[0].type
    assert 0 < depth < 50


# -- limits -----------------------------------------------------------------------------------------------------------


def counted(sql_type: SqlType) -> int:
    return sum(1 + counted(field.type) for field in sql_type.fields)


async def test_the_texts_of_one_description_have_a_limit_together() -> None:
    """220 texts of 50 KB took 15 s, and 290 MB for ever."""
    texts = [f"ROW({','.join(f'c{n}_{m} integer' for m in range(3500))})" for n in range(220)]
    assert all(50_000 < len(text) < MAX_TEXT for text in texts)
    described = [SqlType(TypeCode.ROW, 4096, 0, "", text) for text in texts]
    found = await resolved_types([INTEGER, described[0], *described], {}, Catalog())
    assert found is not None
    assert [len(one.fields) for one in found] == [0, 3500, 3500] + [0] * 219
    assert [one.extended_name for one in found[2:]] == texts


async def test_the_columns_of_one_description_have_so_many_fields_together() -> None:
    name = f"ROW({','.join(f'c{n} integer' for n in range(3000))})"
    described = SqlType(TypeCode.ROW, 4096, 0, "", name)
    found = await resolved_types([described] * 32_767, {}, Catalog())
    assert found is not None
    assert 1 <= sum(map(len, (one.fields for one in found))) <= 20_000
    assert found[0].fields is found[5].fields and found[-1].fields == ()


async def test_the_types_of_one_look_up_have_so_many_fields_together() -> None:
    """Each type has the next one twice, so that the fields double."""
    first, count = 3000, 400
    rows = [
        (number, "me", f"t{number}", 22, 0, field, 0, f"f{field}", 22, 0, number + 1)
        for number in range(first, first + count)
        for field in (2, 3)
    ]
    wanted = [SqlType(TypeCode.ROW, 0, number, "me", f"t{number}") for number in range(first, first + count)]
    known = KnownTypes()
    assert await resolved_types(wanted, known, Catalog(*rows)) is not None
    sizes = [counted(known[number]) for number in range(first, first + count)]
    assert max(sizes) <= MAX_FIELDS
    assert 5_000 <= sum(sizes) <= 20_000


async def test_a_session_does_not_know_types_without_end() -> None:
    known = KnownTypes()
    for first in range(3000, 33_000, 5_000):
        named = [
            SqlType(TypeCode.ROW, 0, number, "me", f"t{number}") for number in range(first, first + 5_000)
        ]
        assert await resolved_types(named, known, Catalog()) is not None
    assert len(known) <= 15_000
