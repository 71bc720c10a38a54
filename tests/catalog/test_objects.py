"""What a server answers about privileges, synonyms, indexes and types -> definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aioifx.catalog import objects
from aioifx.catalog.definitions import Grant, RoutineDefinition
from aioifx.catalog.objects import ObjectNames
from aioifx.catalog.tables import Tables
from aioifx.catalog.texts import Place
from tests.catalog.test_tables import FakeServer


def tables() -> Tables:
    return Tables(Place(), None, is_ansi=False)


async def test_privileges_on_tables_and_columns() -> None:
    answers: Mapping[str, Sequence[tuple[Any, ...]]] = {
        "informix.systabauth a": [
            (100, "ann  ", "bob   ", "Su*id----"),
            (101, "ann  ", "bob   ", "s--------"),
            (100, "ann  ", "carl  ", "---------"),
        ],
        "informix.syscolauth a": [(100, "ann  ", "carl ", "s-R", 2)],
        "informix.syscolumns c": [
            (100, 1, "id", 2, 4, 0, None, None, None, None, None, 0),
            (100, 2, "price", 2, 4, 0, None, None, None, None, None, 0),
        ],
    }
    found = await objects.table_grants(FakeServer(answers).fetch, tables(), {100: ObjectNames("ann", "item")})
    expected: dict[str, Any] = {"on": "table", "owner": "ann", "name": "item", "grantor": "ann"}
    assert [*found] == [
        Grant(privileges=("update", "insert", "delete"), grantee="bob", **expected),
        Grant(privileges=("select",), grantee="bob", grantable=True, **expected),
        Grant(privileges=("select (price)",), grantee="carl", **expected),
        Grant(privileges=("references (price)",), grantee="carl", grantable=True, **expected),
    ]


async def test_routines_that_public_may_not_execute_are_restricted_if_new_ones_are_not() -> None:
    modes = {500: "O", 501: "O", 502: "D", 503: "T", 504: "R"}
    answers: Mapping[str, Sequence[tuple[Any, ...]]] = {
        "informix.sysprocedures p,": [
            (procid, "create procedure", f"p{procid}", "ann", True, "", mode, "T")
            for procid, mode in modes.items()
        ],
        "informix.sysprocauth a": [(501,), (504,)],
    }
    found = await objects.routines(FakeServer(answers).fetch)
    assert [procid for procid, each in found.items() if each.restricted] == [500, 503]
    found = await objects.routines(FakeServer(answers).fetch, is_ansi=True)
    assert [each.restricted for each in found.values()] == [False] * 5


async def test_privileges_on_routines_of_users_only() -> None:
    fake = FakeServer(
        {
            "informix.sysprocauth a": [
                (500, "ann ", "public ", "e"),
                (500, "ann ", "bob ", "E"),
                (7, "a", "b", "e"),
            ]
        }
    )
    routine = RoutineDefinition(kind="function", name="f", owner="ann", arguments="integer", sql="")
    found = [*await objects.routine_grants(fake.fetch, {500: routine})]
    assert [(each.grantee, each.grantable, each.arguments) for each in found] == [
        ("public", False, "integer"),
        ("bob", True, "integer"),
    ]


async def test_roles_and_the_privileges_of_users() -> None:
    fake = FakeServer(
        {
            "informix.sysusers u": [
                ("ann ", "D"),
                ("bob ", "C"),
                ("carl", "R"),
                ("Clerk  ", "G"),
                ("old", "U"),
            ],
            "informix.sysroleauth a": [("Clerk ", "bob ", "n"), ("Clerk ", "carl ", "y")],
        }
    )
    roles, grants = await objects.roles_and_users(fake.fetch)
    assert roles == ["Clerk"]
    assert [(each.privileges, each.grantee, each.grantable) for each in grants] == [
        (("dba",), "ann", False),
        (("connect",), "bob", False),
        (("resource",), "carl", False),
        (('"Clerk"',), "bob", False),
        (('"Clerk"',), "carl", True),
    ]


async def test_synonyms_stand_for_tables_here_and_elsewhere() -> None:
    fake = FakeServer(
        {
            "informix.syssyntable s": [
                (101, None, None, "ann     ", "item"),
                (102, None, "stock   ", "bob  ", "part"),
                (103, "far  ", "stock ", None, "part"),
            ]
        }
    )
    assert await objects.synonym_targets(fake.fetch) == {
        101: '"ann".item',
        102: 'stock:"bob".part',
        103: "stock@far:part",
    }


async def test_what_is_disabled_or_filtering() -> None:
    fake = FakeServer(
        {"informix.sysobjstate o": [(100, "C", "c1", "D"), (100, "I", "i", "F"), (100, "T", "t", "G")]}
    )
    assert await objects.states(fake.fetch, tables()) == {
        (100, "C", "c1"): "disabled",
        (100, "I", "i"): "filtering",
        (100, "T", "t"): "filtering with error",
    }


async def test_no_routine_is_asked_for_by_no_name() -> None:
    fake = FakeServer({})
    assert await objects.routines(fake.fetch, []) == {} and not fake.sent
    assert await objects.routines(fake.fetch, ["b", "a"]) == {} and fake.sent[0][1] == ("a", "b")


async def test_clauses_of_storage() -> None:
    rows = [
        (100, "", "R", 0, None, "d1", "d1"),
        (100, "", "R", 1, None, "d2", "p2"),
        (101, "", "E", 1, "remainder", "d2", "d2"),
        (101, "", "E", 0, "(a < 1 )", "d1  ", "d1  "),
        (102, "", "N", -3, "a", None, None),
        (102, "", "N", 0, "values < 10", "d1", "p0"),
        (103, "ix", "I", 0, None, "d5", "d5"),
        (103, "iy", "T", 0, None, "d5", "d5"),
    ]
    assert await objects.fragments(FakeServer({"informix.sysfragments f": rows}).fetch, tables()) == {
        (100, ""): "fragment by round robin in d1, partition p2 in d2",
        (101, ""): "fragment by expression (a < 1 ) in d1, remainder in d2",
        (102, ""): "fragment by range(a) partition p0 values < 10 in d1",
        (103, "ix"): "in d5",
        (103, "iy"): "",
    }
