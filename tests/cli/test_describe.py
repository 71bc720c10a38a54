"""aioifx describe: the text and JSON of a table, and names that mean nothing."""

from __future__ import annotations

import json

from tests.cli.conftest import Run


async def test_a_table_is_described_for_people(run: Run) -> None:
    outcome = await run("describe", "ITEM")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == 'table "informix".item'
    assert "id     | serial       | no       |" in [line.rstrip() for line in lines]
    assert lines[-2:] == ["privileges:", "    public: select, update, insert, delete, index"]


async def test_a_table_is_described_in_json(run: Run) -> None:
    await run("query", "alter table item add constraint primary key (id) constraint item_pk")
    await run("query", "create table part (item int references item)")
    found = json.loads((await run("describe", "item", "--format", "json")).out)
    assert [column["name"] for column in found["columns"]] == ["id", "name", "price", "day"]
    assert found["constraints"] == [
        {"kind": "primary key", "name": "item_pk", "owner": "informix", "columns": ["id"]}
    ]
    (child,) = found["referenced_by"]
    assert (child["owner"], child["table"]) == ("informix", "part")
    assert found["grants"][0]["grantee"] == "public"


async def test_a_name_without_a_table(run: Run) -> None:
    outcome = await run("describe", "itme")
    assert (outcome.code, outcome.out) == (1, "")
    assert "is named itme; did you mean 'item'?" in outcome.err
    assert (await run("describe", "other:item")).code == 2
