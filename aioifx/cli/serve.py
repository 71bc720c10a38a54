"""aioifx serve: an embedded server for tests. Never: what a server does."""

from __future__ import annotations

import argparse
import sys

from aioifx.cli.failures import FAILED
from aioifx.cli.parsing import Parser, Verbs, add_verb, examples


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    from aioifx.server.__main__ import DESCRIPTION, add_options

    def serve(arguments: argparse.Namespace) -> int:
        return run(parser, arguments)

    parser = add_verb(
        verbs,
        "serve",
        serve,
        description=f"{DESCRIPTION}\nIt ends with Ctrl-C or SIGTERM. `python -m aioifx.server` is the same.",
        epilog=examples(
            "aioifx serve",
            "aioifx serve --port 0 --database shop:en_US.utf8 --seed schema.sql",
            "aioifx serve --directory data --user app --password-file password.txt",
        ),
    )
    add_options(parser)


def run(parser: Parser, arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from aioifx.server import __main__ as server

    failure = server.run(server.options_of(parser, arguments))
    if failure is None:
        return 0
    print(failure, file=sys.stderr)
    return FAILED
