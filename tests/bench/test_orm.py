"""The benchmark of SQLAlchemy's ORM: its table, and one small run."""

from __future__ import annotations

import re

import pytest

from tests.bench import orm
from tests.bench.page import replaced
from tests.bench.postgres import PostgresMissing


def test_a_ratio_is_that_of_neighbours() -> None:
    samples = {"select": {"ours": [2e-6, 4e-6, 3e-6], "theirs": [1e-6, 4e-6, 2e-6]}}
    lines = orm.report(samples).splitlines()
    assert lines[0] == "| CPU per row, µs | ours | theirs | ours as a multiple of theirs |"
    assert lines[2] == "| select | 3.0 | 2.0 | 1.50 [1.00-2.00] |"


def test_one_client_has_no_ratio() -> None:
    assert orm.report({"select": {"ours": [2e-6]}}).splitlines()[2] == "| select | 2.0 |"


def test_the_page_has_its_marks() -> None:
    assert "new" in replaced(orm.PAGE.read_text("utf-8"), "orm", "new")


@pytest.mark.exhaustive
def test_it_runs_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(rows: int) -> None:
        raise PostgresMissing("no initdb")

    monkeypatch.setattr(orm, "postgres_process", missing)
    orm.main(["--rows", "20", "--rounds", "1"])
    printed = capsys.readouterr()
    assert "left out: asyncpg: no initdb" in printed.err
    workloads = re.findall(r"^\| (.*?) \| [\d.]+ \|$", printed.out, re.M)
    assert workloads == list(orm.WORKLOADS)
