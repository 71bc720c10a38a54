"""The guide "Test your application": its application and its tests, as a reader would write them down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing.runs import ASYNCIO, run_pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "test-your-application.md"
FILES = dict(re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', PAGE.read_text("utf-8"), re.M | re.S))


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    for name, text in FILES.items():
        (pytester.path / name).write_text(text, "utf-8")
    return pytester


def settings() -> str:
    """The lines of its pytest.ini that `run_pytest` does not set."""
    lines = FILES["pytest.ini"].splitlines()
    return "\n".join([*(line for line in lines[1:] if "fixture_loop_scope" not in line), "pythonpath = ."])


def test_its_tests_pass(project: pytest.Pytester) -> None:
    run_pytest(project, plugins=[ASYNCIO], ini=settings()).assert_outcomes(passed=7)


def test_its_tests_have_less_than_80_lines() -> None:
    assert len(FILES["test_shop.py"].splitlines()) < 80


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("handled", "failing"),
    [
        ("aioifx.ConnectionLost", ["before", "after"]),
        ("aioifx.UniqueViolation", ["after"]),
        ("aioifx.LockError", ["held_too_long"]),
        ("aioifx.CheckViolation", ["cannot_be_ordered"]),
    ],
)
def test_its_tests_find_an_error_that_the_application_does_not_handle(
    project: pytest.Pytester, handled: str, failing: list[str]
) -> None:
    application = FILES["shop.py"].replace(f"except {handled}:", "except ZeroDivisionError:")
    assert application != FILES["shop.py"]
    (project.path / "shop.py").write_text(application, "utf-8")
    result = run_pytest(project, plugins=[ASYNCIO], ini=settings())
    failed = [line for line in result.outlines if line.startswith("FAILED")]
    for name in failing:
        assert any(name in line for line in failed), failed
    result.stdout.fnmatch_lines(["*last statements in test_*"])
