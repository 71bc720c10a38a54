"""aioifx changes: committed changes as JSON lines, and a file with the position. Never: how changes are captured."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from aioifx.cdc.position import Position
from aioifx.cdc.records import CommittedTransaction, Incomplete
from aioifx.cdc.stream import Changes, changes
from aioifx.cli.address import Destination, add_connection, destination, take_operands
from aioifx.cli.output import write_text
from aioifx.cli.parsing import Verbs, add_verb, examples, whole
from aioifx.cli.row_texts import json_lines
from aioifx.cli.session import asking, run_until_signal
from aioifx.errors import InterfaceError
from aioifx.rows import Record
from aioifx.sqltypes import Column


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "changes",
        run,
        description="Print the committed changes of tables as JSON lines, until Ctrl-C: kind, table, before, after,\n"
        "and the position of their transaction. It needs change data capture at the server.",
        epilog=examples(
            "aioifx changes 'informix://informix@db1:9088/shop?server=ol_shop' informix.orders",
            "aioifx changes shop:informix.orders shop:informix.items --snapshot --checkpoint orders.json",
            'aioifx changes informix.orders --from \'{"restart": 51539607552, "commit": 51539607600, '
            '"change": 51539607584}\'',
        ),
    )
    add_connection(parser)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="database:owner.table, or owner.table")
    parser.add_argument(
        "--from", metavar="POSITION", dest="start", help="continue after this position, which is JSON"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        type=Path,
        help="write the position into FILE after each transaction; if it is there, continue at its position",
    )
    parser.add_argument(
        "--incomplete",
        choices=get_args(Incomplete),
        default="error",
        help="what becomes of a transaction that began before the position of --from or --checkpoint",
    )
    parser.add_argument("--restart", action="store_true", help="continue after a lost connection")
    parser.add_argument("--snapshot", action="store_true", help="print the rows that are there first")
    parser.add_argument("--count", type=whole, metavar="N", help="stop after so many transactions")


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    tables = take_operands(arguments, "tables")
    if not tables:
        raise InterfaceError("TABLE: missing")
    start = _start(arguments)
    if arguments.snapshot and arguments.start is not None:
        raise InterfaceError("--snapshot: expected no --from")

    def follow(where: Destination) -> int:
        options = where.options
        options.pop("command_timeout", None)
        following = changes(
            where.dsn,
            tables,
            start=start,
            snapshot=arguments.snapshot and start is None,
            incomplete=arguments.incomplete,
            restart=arguments.restart,
            **options,
        )
        return run_until_signal(_follow(arguments, following))

    return asking(destination(arguments), follow)


def _start(arguments: argparse.Namespace) -> Position | None:
    """The position of the checkpoint, or else of --from."""
    path: Path | None = arguments.checkpoint
    if path is not None:
        try:
            return Position.from_json(path.read_bytes())
        except FileNotFoundError:
            if not os.access(path.parent, os.W_OK):
                raise InterfaceError(
                    f"--checkpoint: {path.parent} is not a folder that can be written"
                ) from None
        except InterfaceError as error:
            raise InterfaceError(f"--checkpoint: {path}: {error}") from None
        except OSError as error:
            raise InterfaceError(f"--checkpoint: {error}") from None
    try:
        return None if arguments.start is None else Position.from_json(arguments.start)
    except InterfaceError as error:
        raise InterfaceError(f"--from: {error}") from None


async def _follow(arguments: argparse.Namespace, following: Changes) -> int:
    count = 0
    async with following as opened:
        writers = {name: _row_writer(columns) for name, columns in opened.columns.items()}
        async for transaction in opened:
            for line in _lines(transaction, writers):
                write_text(line)
            if arguments.checkpoint is not None and transaction.position is not None:
                _save(arguments.checkpoint, transaction.position)
            count += 1
            if count == arguments.count:
                break
    return 0


def _lines(
    transaction: CommittedTransaction, writers: Mapping[str, Callable[[Record | None], str]]
) -> Iterator[str]:
    position = "null" if transaction.position is None else transaction.position.to_json()
    time = json.dumps(None if transaction.time is None else transaction.time.isoformat())
    for change in transaction:
        write = writers[change.table]
        yield (
            f'{{"kind": "{change.kind}", "table": {json.dumps(change.table)}, "before": {write(change.before)}, '
            f'"after": {write(change.after)}, "sequence": {change.sequence}, "time": {time}, '
            f'"transaction": {transaction.transaction}, "position": {position}}}\n'
        )


def _row_writer(columns: Sequence[Column]) -> Callable[[Record | None], str]:
    write = json_lines(columns)
    return lambda row: "null" if row is None else write([row]).rstrip("\n")


def _save(path: Path, position: Position) -> None:
    """Write the file beside its place, and move it there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(position.to_json() + "\n", "utf-8")
    part.replace(path)
