"""Parsers of the command line."""

from __future__ import annotations

import argparse

import pytest

from aioifx.cli.parsing import (
    VERBS,
    Parser,
    Run,
    add_verb,
    examples,
    load_verbs,
    program_parser,
    seconds,
    whole,
)


@pytest.fixture
def parser() -> Parser:
    """A command line with a verb ``try``, an optional ADDRESS, and SQL."""
    run: Run = lambda arguments: 7  # noqa: E731
    parser = Parser(prog="aioifx")
    verbs = parser.add_subparsers(required=True, parser_class=Parser)
    verb = add_verb(verbs, "try", run, description="", epilog=examples("aioifx try x", "aioifx try y"))
    verb.add_argument("address", nargs="?")
    verb.add_argument("sql")
    verb.add_argument("--limit", type=whole)
    verb.add_argument("--param", action="append")
    return parser


@pytest.mark.parametrize(
    "line", ["a s --limit 5", "a --limit 5 s", "--limit 5 a s", "--limit=5 a s", "a --limit 5 -- s"]
)
def test_options_stand_anywhere(parser: Parser, line: str) -> None:
    given = parser.parse_args(["try", *line.split()])
    assert (given.address, given.sql, given.limit) == ("a", "s", 5)
    assert given.run(given) == 7


@pytest.mark.parametrize("line", ["s --limit 5", "--limit 5 s"])
def test_the_first_positional_argument_may_be_missing(parser: Parser, line: str) -> None:
    given = parser.parse_args(["try", *line.split()])
    assert (given.address, given.sql, given.limit) == (None, "s", 5)


def test_a_negative_number_is_the_value_of_an_option(parser: Parser) -> None:
    assert parser.parse_args(["try", "s", "--param", "-5", "--param=-x"]).param == ["-5", "-x"]


@pytest.mark.parametrize("line", ["", "a s t", "a s --limit 0", "a s --guess", "a s --limit -1"])
def test_a_wrong_line_is_refused_with_the_usage_of_the_verb(
    parser: Parser, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["try", *line.split()])
    assert ended.value.code == 2
    assert "usage: aioifx" in capsys.readouterr().err


def test_examples_are_shown_line_by_line_before_the_options(
    parser: Parser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["try", "--help"])
    out = capsys.readouterr().out
    assert out.startswith("usage: aioifx try [OPTION ...] [address] sql\n")
    assert out.index("\nexamples:\n  aioifx try x\n  aioifx try y\n") < out.index("--limit")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["s", "--limt", "5"], "unknown option --limt; did you mean --limit?"),
        (["s", "--password=hidden"], "unknown option --password"),
        (["a", "s", "informix://app:hidden@db1"], "too many arguments: expected [address] sql"),
    ],
)
def test_arguments_that_are_not_known_are_not_shown(
    line: list[str], message: str, parser: Parser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(["try", *line])
    assert capsys.readouterr().err == (
        f"usage: aioifx try [OPTION ...] [address] sql\naioifx try: error: {message}\n"
    )


def test_each_verb_has_a_module_and_examples() -> None:
    program = program_parser()
    parsers = load_verbs(program, VERBS).choices
    assert parsers.keys() == VERBS.keys()
    for name, verb in parsers.items():
        assert f"examples:\n  aioifx {name}" in verb.format_help(), name


def test_seconds_and_counts_are_above_zero() -> None:
    assert (seconds("0.5"), seconds("2"), whole("12")) == (0.5, 2.0, 12)
    for text in ("0", "-1", "inf", "nan", "x", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="expected seconds above 0, got "):
            seconds(text)
    for text in ("0", "-1", "1.5", "x", "", "\u0663"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected a whole number above 0, got "):
            whole(text)
