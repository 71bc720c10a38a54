"""aioifx tables: which tables it lists, in which order and format."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run


@pytest.fixture
async def filled(run: Run) -> Run:
    for sql in (
        'create table "anna".part (a int)',
        "create view cheap as select * from item",
        "create synonym thing for part",
        "create private synonym own for item",
        "create sequence numbers",
        "create external table files (a int) using (datafiles ('DISK:a.unl'))",
    ):
        assert (await run("query", sql)).code == 0
    return run


async def test_tables_are_listed_by_name(filled: Run) -> None:
    outcome = await filled("tables")
    lines = [line.rstrip() for line in outcome.out.splitlines()]
    assert outcome.code == 0 and lines[:-1] == [
        "name    | owner    | kind            | for",
        "--------+----------+-----------------+----------------",
        "cheap   | informix | view            |",
        "files   | informix | external table  |",
        "item    | informix | table           |",
        "numbers | informix | sequence        |",
        'own     | informix | private synonym | "informix".item',
        "part    | anna     | table           |",
        'thing   | informix | synonym         | "anna".part',
    ]
    assert lines[-1].startswith("(7 rows")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["*E*", "part"], ["cheap", "files", "item", "numbers", "part"]),
        (["--kind", "synonym"], ["own", "thing"]),
        (["--kind", "table", "--kind", "external"], ["files", "item", "part"]),
        (["--owner", "ANNA"], ["part"]),
        (["?tem", "--kind", "view"], []),
    ],
)
async def test_names_kinds_and_owners_choose(filled: Run, options: list[str], names: list[str]) -> None:
    outcome = await filled("tables", *options, "--format", "json")
    assert [json.loads(line)["name"] for line in outcome.out.splitlines()] == names
    assert outcome.code == 0


async def test_the_target_of_a_synonym_is_null_for_others_in_json(filled: Run) -> None:
    lines = (await filled("tables", "thing", "item", "--format", "json")).out.splitlines()
    assert [json.loads(line)["for"] for line in lines] == [None, '"anna".part']
