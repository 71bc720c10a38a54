"""The table of libraries: its fields, the pinned versions, and the page. `poe libraries` runs their tests."""

from __future__ import annotations

import re
from dataclasses import fields

from tests.libraries.table import HERE, PAGE, REQUIREMENTS, Library, distributions, libraries, page_table


def test_the_file_explains_each_field() -> None:
    comment = (HERE / "libraries.toml").read_text("utf-8").partition("\n[")[0]
    explained = re.findall(r"^#   ((?:\w+, )*\w+)  ", comment, re.M)
    assert {name for names in explained for name in names.split(", ")} == {
        field.name for field in fields(Library)
    } - {"key", "name"}


def test_each_library_has_tests_that_pass_and_reasons_of_one_line() -> None:
    for library in libraries():
        assert library.suite or library.program.exists(), library.key
        assert library.passed > 0, library.key
        assert all(re.fullmatch(r".{1,120}", reason) for reason in library.differs.values()), library.key


def test_each_program_is_of_a_library() -> None:
    assert {path.stem for path in (HERE / "programs").glob("*.py")} <= {
        library.key for library in libraries()
    }


def test_every_requirement_has_one_version() -> None:
    lines = REQUIREMENTS.read_text("utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.!+]+", line)] == []
    pinned = [line.split("==")[0] for line in lines]
    assert pinned == sorted({*pinned})
    asked = {re.split(r"[\[<>=~! ]", distribution)[0] for distribution in distributions()}
    assert asked - {*pinned} == set()


def test_the_page_has_the_table_of_the_file() -> None:
    page = PAGE.read_text("utf-8")
    written = page[page.index("| library |") :].rstrip("\n")
    assert written == page_table(), "run python -m tests.libraries.table"
