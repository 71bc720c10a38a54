"""aioifx completion: scripts that complete command lines in a shell, written by shtab. Never: what verbs there are."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final

from aioifx.cli.parsing import VERBS, Verbs, add_verb, examples, load_verbs, program_parser
from aioifx.errors import InterfaceError

_PATHS: Final = {
    "DIR": "DIRECTORY",
    "FILE": "FILE",
    "OUT": "FILE",
    "SCRIPT": "FILE",
    "SCRIPT.sql": "FILE",
}
"""What shtab completes by the metavar of an argument."""


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "completion",
        run,
        description="Print a script that completes verbs, options and files in a shell. It needs aioifx[cli].",
        epilog=examples(
            "aioifx completion bash > ~/.local/share/bash-completion/completions/aioifx",
            "aioifx completion zsh > ~/.zfunc/_aioifx  # a directory of fpath",
            "aioifx completion fish > ~/.config/fish/completions/aioifx.fish",
        ),
    )
    parser.add_argument("shell", metavar="SHELL", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    try:
        shtab = import_module("shtab")
    except ImportError:
        raise InterfaceError("completion: it needs shtab: pip install 'aioifx[cli]'") from None
    program = program_parser()
    for parser in load_verbs(program, VERBS).choices.values():
        for action in parser.arguments():
            if action.metavar in _PATHS:
                action.complete = getattr(shtab, _PATHS[action.metavar])  # type: ignore[attr-defined]  # for shtab
    print(shtab.complete(program, arguments.shell))
    return 0
