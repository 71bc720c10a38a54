"""Draws docs/assets/doctor.svg: `python .build/terminal.py`; tests/test_docs.py compares its words.

It runs `aioifx doctor` on an embedded server that has another name than the address says. Each step gets the time of
a usual one, so that only a change of the words changes the picture.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import io
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any, Final

import aioifx.server
from aioifx.cli.doctor import View
from aioifx.cli.output import LinePrinter
from aioifx.diagnosis import DiagnosisReport, DiagnosisStep
from aioifx.diagnosis.run import diagnose

PICTURE: Final = Path(__file__).parents[1] / "docs" / "assets" / "doctor.svg"
COMMAND: Final = "aioifx doctor 'informix://app@127.0.0.1:9088/shop?server=ol_stores'"
SECONDS: Final[Mapping[str, float]] = {"address": 0.0004, "tcp": 0.0004, "server_name": 0.0064}
"""Times of steps; the listener's is that for which it waits."""
WIDTH: Final = 96

_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", re.S)
"""What rich would fetch from the network."""


class Recorder(LinePrinter):
    """Keeps what it prints, in style."""

    def __init__(self) -> None:
        super().__init__()
        console = importlib.import_module("rich.console")
        self._text: Any = importlib.import_module("rich.text")
        self._console: Any = console.Console(
            record=True,
            file=io.StringIO(),
            width=WIDTH,
            highlight=False,
            force_terminal=True,
            legacy_windows=False,
        )

    def svg(self) -> str:
        """The terminal as a picture."""
        text: str = self._console.export_svg(title="aioifx doctor", unique_id="doctor")
        return _FONT.sub("", text).replace("Fira Code", "ui-monospace")


async def diagnosis() -> DiagnosisReport:
    """A report on a server that is not named ol_stores."""
    async with aioifx.server.running("shop", server_name="ol_shop") as dsn:
        found = await diagnose(dsn, server="ol_stores", user="app")
    port = re.search(r":(\d+)/", dsn)
    assert port
    steps = (_usual(step, port[1]) for step in found.steps)
    return DiagnosisReport(tuple(steps))


def _usual(step: DiagnosisStep, port: str) -> DiagnosisStep:
    return dataclasses.replace(
        step,
        seconds=SECONDS.get(step.name, 0.2506 if step.name == "listener" else 0.0),
        found=step.found.replace(port, "9088"),
        server=step.server.replace(port, "9088"),
    )


def draw() -> str:
    """The picture."""
    recorder = Recorder()
    recorder.print([(("$ ", "dim"), (COMMAND, "")), ()])
    report = asyncio.run(diagnosis())
    view = View(recorder, WIDTH)
    for step in report.steps:
        view.on_step(step)
    view.finish(report)
    return recorder.svg()


def words(picture: str) -> list[str]:
    """The texts of a picture, whatever their places."""
    return [
        unescape(text).replace("\xa0", " ") for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    ]


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
