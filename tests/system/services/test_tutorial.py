"""The tutorial "A service in half an hour" as a reader follows it: real commands, in a shell, with their outputs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.injection import eventually

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "service-in-half-an-hour.md"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.M | re.S)
VARYING = re.compile(r"\b\d+\.\d+ ?s\b")


def free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


class Reader:
    """Someone who types what the page says, in a folder of their own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._ports = {"9088": free_port(), "8000": free_port()}
        self._terminals: dict[str, subprocess.Popen[str]] = {}
        bin_folder = str(Path(sys.executable).parent)
        self._environ = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "80",
        }
        for name in ("AIOIFX_PASSWORD", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
            self._environ.pop(name, None)

    def _own(self, text: str) -> str:
        return re.sub(r"\b(9088|8000)\b", lambda match: self._ports[match[0]], text)

    def _shown(self, text: str) -> str:
        text = text.replace(str(self._folder), "~/library")
        for shown, port in self._ports.items():
            text = text.replace(port, shown)
        return VARYING.sub("TIME", text)

    async def write(self, title: str, text: str) -> None:
        """Write a file; ``, more`` means at its end, or in app.py before its last line."""
        name, _, more = title.partition(", ")
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not more:
            file.write_text(text, "utf-8")
        elif name == "app.py":
            old = file.read_text("utf-8")
            head, last = old[: old.rindex("    return app")], "    return app\n"
            file.write_text(f"{head}{text}\n{last}", "utf-8")
        else:
            file.write_text(f"{file.read_text('utf-8')}\n\n{text}", "utf-8")

    def export(self, text: str) -> None:
        """Set the variable of a line ``export NAME='VALUE'``."""
        name, _, value = text.removeprefix("export ").strip().partition("=")
        self._environ[name] = self._own(value.strip("'"))

    async def start(self, terminal: str, command: str) -> None:
        """Run a command in a terminal of its own, instead of the one before it, until its port answers."""
        if (before := self._terminals.pop(terminal, None)) is not None:
            before.terminate()
            before.wait(20)
        port = re.search(r"--port (\d+)", self._own(command))
        assert port
        self._spawn(terminal, self._own(command).split())

        def answers() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", int(port[1]))) == 0

        await eventually(answers)

    def _spawn(self, terminal: str, command: list[str]) -> None:
        process = subprocess.Popen(
            command, cwd=self._folder, env=self._environ, stdout=subprocess.DEVNULL, text=True
        )
        self._stack.callback(process.wait, 20)
        self._stack.callback(process.terminate)
        self._terminals[terminal] = process

    def run(self, command: str) -> str:
        """What a command line prints, stderr as well."""
        done = subprocess.run(
            self._own(command),
            shell=True,
            cwd=self._folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=50,
        )
        return self._shown(done.stdout)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


@pytest.mark.exhaustive
@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform == "win32", reason="the page is for a POSIX shell")
async def test_every_step_prints_what_the_page_shows(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    differences: list[str] = []
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        for language, title, text in FENCE.findall(PAGE.read_text("utf-8")):
            if language in ("py", "ini"):
                await reader.write(title, text)
            elif title.startswith("terminal"):
                await reader.start(title, text)
            elif text.startswith("export"):
                reader.export(text)
            elif language == "console":
                for command, output in commands(text):
                    if (printed := ended(reader.run(command))) != VARYING.sub("TIME", output):
                        differences.append(f"$ {command}\n{printed}")
    assert "\n".join(differences) == ""
