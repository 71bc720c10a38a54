"""What happens in a scenario, one line each: messages by their names, decisions, operations. Never: a law."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator
from typing import Final

from aioifx.tracing.decoder import Decoder
from aioifx.tracing.fields import View, fields_of
from tests.system.simulation.network import Network, Tracer

_LOGGERS: Final = ("aioifx.connect", "aioifx.pool", "aioifx.session")


class TextTracer(Tracer):
    """Writes each event as a line: virtual time, connection, what happens.

    Args:
        write: called with each line.
    """

    is_on = True

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._decoders: dict[int, Decoder] = {}

    def event(self, time: float, connection: int, what: str, data: bytes = b"") -> None:
        """Write the event; of data, the messages that it completes."""
        place = f"{time - 1000:12.6f}  {f'[{connection}]' if connection else '':5}"
        if not data:
            self._write(f"{place} {what}")
            return
        decoder = self._decoders.setdefault(connection, Decoder(keeps_rows=True))
        is_sent = what.startswith("client")
        messages = (decoder.sent if is_sent else decoder.received)(data)
        view = View(decoder.code_set, True)
        shown = ", ".join(
            _shown(message.name, message.count, fields_of(message, view)) for message in messages
        )
        self._write(f"{place} {what} {len(data)} bytes{': ' if shown else ''}{shown}")


def _shown(name: str, count: int, fields: dict[str, object]) -> str:
    details = " ".join(
        f"{key}={_short(value)}" for key, value in fields.items() if value not in (None, "", (), [], 0)
    )
    return name + (f" x {count}" if count > 1 else "") + (f" ({details})" if details else "")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class _LogLines(logging.Handler):
    """What the client logs, such as the decisions of a pool, as events."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    def emit(self, record: logging.LogRecord) -> None:
        self._network.trace(0, f"{record.name}: {record.getMessage()}")


@contextlib.contextmanager
def traced_log(network: Network) -> Generator[None, None, None]:
    """Context in which what the client logs is an event, but for queries, which it would measure in real time."""
    handler = _LogLines(network)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
            logger.removeHandler(handler)
