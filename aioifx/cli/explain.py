"""aioifx explain: what error codes mean, printed for people. Never: a connection, what an error means."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from aioifx.cli.failures import FAILED
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.errors import DatabaseError
from aioifx.explain import Explanation, explain, pairs


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    # No option of this verb may look like a negative number: then argparse would take -244 for one.
    parser = add_verb(
        verbs,
        "explain",
        run,
        description="What SQLCODEs and ISAM codes mean, where they come from, and what to do.",
        epilog=examples("aioifx explain -244 -154"),
    )
    parser.add_argument(
        "code",
        nargs="+",
        type=_code,
        help="SQLCODE or ISAM code, with or without its minus; an ISAM code after an SQLCODE is its reason",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    return explain_codes(arguments.code)


def _code(text: str) -> int:
    """Errors are negative, and people leave the sign out."""
    try:
        return -abs(int(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None


def explain_codes(codes: Sequence[int]) -> int:
    """Print what is known of *codes*, and of which nothing is."""
    width = min(shutil.get_terminal_size().columns, 100)
    unknown: list[int] = []
    texts: list[str] = []
    for sqlcode, isamcode in pairs(codes):
        if (found := explain(sqlcode, isamcode)) is None:
            unknown.append(sqlcode)
        else:
            texts.append("\n".join(lines_of(found, width)))
    if texts:
        print("\n\n".join(texts))
    for code in unknown:
        print(
            f"{code} is not in this book; `finderr {code}` on the server's host may know it", file=sys.stderr
        )
    return FAILED if unknown else 0


def lines_of(found: Explanation, width: int) -> Iterator[str]:
    """An explanation as people read it, in lines of about *width*."""
    if found.sqlcode:
        yield f"SQLCODE {found.sqlcode}: {found.meaning}"
    if found.isamcode:
        yield f"ISAM {found.isamcode}: {found.reason}"
    facts = {
        "class": _family(found.error) if found.error else "as the SQLCODE says",
        "SQLSTATE": found.sqlstate or "as the SQLCODE says",
        "retryable": "yes: the same transaction may succeed when it is run again"
        if found.retryable
        else "no",
        "connection": "stays usable" if found.connection_usable else "ended, or never opened",
        "evidence": "observed on a server" if found.seen else "documented",
        "cause": found.advice.cause,
        "remedy": found.advice.remedy,
    }
    for name, fact in facts.items():
        yield textwrap.fill(
            fact,
            max(width, 40),
            initial_indent=f"  {name:<11} ",
            subsequent_indent=" " * 14,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _family(error: type[DatabaseError]) -> str:
    """A class, and in brackets those of its parents that say more than DatabaseError."""
    parents = [
        parent.__name__
        for parent in error.__mro__[1:]
        if issubclass(parent, DatabaseError) and parent is not DatabaseError
    ]
    return error.__name__ + (f" ({', '.join(parents)})" if parents else "")
