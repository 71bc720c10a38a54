"""Codes to classes: the ISAM code says why, the SQLCODE what, and nobody guesses."""

from __future__ import annotations

import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx import errors
from aioifx.errors import DatabaseError, class_for, describe_codes, from_server, is_retryable, sqlstate_of

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
}


def drawn_tree() -> dict[str, str]:
    """Class -> parent, as the module's docstring draws it."""
    parents: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^    ((?:[│ ] {2})*)(?:[├└]─ )?([A-Z]\w+)(?:\s{2,}|$)", line)
        if not found:
            continue
        depth = len(found[1]) // 3 + ("─ " in line)
        del path[depth:]
        parents[found[2]] = path[-1] if path else "Exception"
        path.append(found[2])
    return parents


def test_the_tree_in_the_docstring_is_the_one_in_the_code() -> None:
    assert drawn_tree() == {name: cls.__bases__[0].__name__ for name, cls in CLASSES.items()}


@pytest.mark.parametrize(
    ("sqlcode", "isamcode", "expected", "sqlstate"),
    [
        (-201, 0, errors.SQLSyntaxError, "42000"),
        (-206, -111, errors.UndefinedTable, "42S02"),
        (-217, 0, errors.UndefinedColumn, "42S22"),
        (-674, 0, errors.UndefinedRoutine, "42000"),
        (-272, 0, errors.PermissionDenied, "42501"),
        (-239, -100, errors.UniqueViolation, "23000"),
        (-268, -100, errors.UniqueViolation, "23000"),
        (-346, -100, errors.UniqueViolation, "23000"),
        (-271, -100, errors.UniqueViolation, "23000"),
        (-391, 0, errors.NotNullViolation, "23000"),
        (-703, 0, errors.NotNullViolation, "23000"),
        (-530, 0, errors.CheckViolation, "23000"),
        (-691, -111, errors.ForeignKeyViolation, "23000"),
        (-692, 0, errors.ForeignKeyViolation, "23000"),
        (-244, -107, errors.RowLocked, "40001"),
        (-244, -154, errors.LockTimeout, "40001"),
        (-243, -143, errors.Deadlock, "40001"),
        (-271, -113, errors.RowLocked, "40001"),
        (-346, 0, DatabaseError, "IX000"),
        (-213, -157, errors.QueryCanceled, "57014"),
        (-951, 0, errors.AuthenticationError, "28000"),
        (-23197, 0, errors.LocaleError, "IX000"),
        (-761, 0, errors.ConnectError, "08001"),
        (-1202, 0, errors.DataError, "22012"),
        (-1213, 0, errors.DataError, "22018"),
        (-255, 0, errors.OperationalError, "25000"),
        (-999, 0, errors.NotSupportedError, "0A000"),
        (-99999, 0, DatabaseError, "IX000"),
        (-99999, -143, errors.Deadlock, "40001"),
    ],
)
def test_codes_decide_class_and_sqlstate(
    sqlcode: int, isamcode: int, expected: type[DatabaseError], sqlstate: str
) -> None:
    assert class_for(sqlcode, isamcode) is expected
    assert sqlstate_of(sqlcode, isamcode) == sqlstate
    error = from_server(sqlcode, isamcode)
    assert type(error) is expected
    assert (error.sqlcode, error.isamcode, error.sqlstate) == (sqlcode, isamcode, sqlstate)


@given(st.integers(-40_000, 0), st.integers(-40_000, 0), st.text(max_size=40))
def test_any_codes_make_an_error_that_names_them(sqlcode: int, isamcode: int, token: str) -> None:
    error = from_server(sqlcode, isamcode, token=token)
    assert str(sqlcode) in str(error)
    assert isamcode == 0 or str(isamcode) in str(error)
    assert len(error.sqlstate) in (0, 5)


def test_a_message_names_what_the_server_named_and_why() -> None:
    text = describe_codes(-268, -100, "app.pk_item")
    assert text == "unique constraint app.pk_item is violated (SQLCODE -268, ISAM -100: duplicate key)"
    assert describe_codes(-201) == "syntax error (SQLCODE -201)"
    assert describe_codes(-12345, 0, "thing") == "the server reports error -12345: thing (SQLCODE -12345)"
    assert describe_codes(-391) == "column takes no NULL (SQLCODE -391)"


def test_a_row_of_many_is_named_by_its_index() -> None:
    error = from_server(-268, -100, token="pk", row_index=17, sql="INSERT ..", offset=3)
    assert str(error).startswith("row 17: ")
    assert (error.row_index, error.sql, error.offset, error.token) == (17, "INSERT ..", 3, "pk")


@pytest.mark.parametrize("isamcode", [-107, -113, -143, -144, -154])
def test_locks_are_worth_another_try(isamcode: int) -> None:
    assert is_retryable(-244, isamcode)
    assert from_server(-244, isamcode).retryable


@pytest.mark.parametrize("sqlcode", [-458, -268, -201, 0])
def test_what_will_fail_again_is_not_retryable(sqlcode: int) -> None:
    assert not from_server(sqlcode).retryable


def test_errors_that_end_the_connection_say_so() -> None:
    for ended in (
        errors.ConnectionLost,
        errors.ProtocolError,
        errors.ConnectError,
        errors.AuthenticationError,
    ):
        assert not ended("gone").connection_usable
    for goes_on in (DatabaseError, errors.QueryCanceled, errors.UniqueViolation, errors.InternalError):
        assert goes_on("still here").connection_usable


def test_an_error_without_a_server_has_no_codes() -> None:
    error = errors.DataError("parameter 1: too long")
    assert (error.sqlcode, error.isamcode, error.sqlstate, error.offset) == (0, 0, "", 0)
    assert error.row_index is None and error.sql is None


def test_a_warning_carries_its_sqlstate_and_is_no_error() -> None:
    warning = errors.Warning("a value was truncated", "01004")
    assert warning.sqlstate == "01004"
    assert not isinstance(warning, errors.Error)


def test_every_known_code_has_a_class_from_the_tree_and_a_sqlstate() -> None:
    known = {**errors._BY_SQLCODE, **errors._BY_ISAM}
    assert len(known) > 200
    for code, rule in known.items():
        assert rule.error in CLASSES.values(), code
        assert re.fullmatch(r"[0-9A-Z]{5}", rule.sqlstate), code
        assert rule.meaning and rule.meaning == rule.meaning.strip(), code
        assert rule.meaning[0] == "{" or rule.meaning[0].islower() or rule.meaning.split()[0].isupper(), code
