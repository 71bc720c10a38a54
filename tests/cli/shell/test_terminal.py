"""Dialogues with the shell in a terminal, see `Dialogue`: what is typed, and all that the screen shows."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from aioifx.cli.address import Destination
from aioifx.cli.shell.state import Shell
from aioifx.server import Server, ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode
from tests.cli.shell.screen import KEY, Terminal
from tests.injection import eventually

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals"),
    # From CPython 3.12 on, of threads that other tests have left; the child executes another program at once.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

PAGE: Final = Path(__file__).parents[3] / "docs" / "howto" / "shell.md"
FOLDER: Final = Path(__file__).parent / "dialogues"
GREETING: Final = "\\? lists the commands, \\q ends the shell."
"""The second line of the screen; the first names the server."""
TYPED: Final = re.compile(r"(?P<prompt>(?:\w+\*?(?: \(lost\))?| +-)>) ?(?P<typed>.*)")

SEED: Final = (
    """
CREATE TABLE item (id SERIAL PRIMARY KEY, name VARCHAR(40) NOT NULL, price DECIMAL(8,2), day DATE);
INSERT INTO item (name, price, day) VALUES ('pen', 1.50, MDY(1, 31, 2026));
INSERT INTO item (name, price, day) VALUES ('ink', NULL, NULL);
INSERT INTO item (name, price, day) VALUES ('lamp', 35, MDY(12, 31, 1999));
CREATE TABLE sale (item INT REFERENCES item (id), number INT);
CREATE INDEX sale_number ON sale (number);
CREATE VIEW cheap AS SELECT id, name FROM item WHERE price < 10;
CREATE PROCEDURE twice(n INT) RETURNING INT; RETURN 2 * n; END PROCEDURE;
CREATE TABLE n (a INT);
"""
    + "INSERT INTO n VALUES (1);" * 10
)


class Dialogue(NamedTuple):
    """A dialogue of a file: ``=== title``, options such as ``: lines 12``, and what the screen shows.

    A line with a prompt is typed, and Enter after it, unless it ends with a key: ``{C-c}``. Where the screen shows
    something else than the typed text, that follows ``==>``. A line ``$ name`` is an action of the test. A line after
    a point is shown as it is, without it.
    """

    title: str
    options: dict[str, str]
    lines: list[str]


def dialogues() -> Iterator[Dialogue]:
    """All dialogues."""
    for path in sorted(FOLDER.glob("*.txt")):
        for text in re.split(r"^=== ", path.read_text("utf-8"), flags=re.M)[1:]:
            title, *lines = text.rstrip().split("\n")
            options = dict(line[2:].partition(" ")[::2] for line in lines if line.startswith(": "))
            yield Dialogue(title, options, [line for line in lines if not line.startswith(": ")])
    transcript = r"^```text\n\$ aioifx shell[^\n]*\n[^\n]*\n[^\n]*\n(.*?)^```$"
    shown = re.search(transcript, PAGE.read_text("utf-8"), re.M | re.S)
    assert shown
    yield Dialogue("the transcript of the guide", {}, shown[1].rstrip().split("\n"))


def parameters() -> list[Any]:
    """Dialogues; those with the option ``default`` are in the default suite."""
    return [
        pytest.param(
            each,
            id=each.title.replace(" ", "-"),
            marks=[] if "default" in each.options else [pytest.mark.exhaustive],
        )
        for each in dialogues()
    ]


class Talk:
    """One dialogue, held with a shell."""

    def __init__(self, terminal: Terminal, actions: Mapping[str, Callable[[str], object]]) -> None:
        self._terminal = terminal
        self._actions = actions
        self._shown: list[str] = []
        """The lines that the screen should show."""

    def hold(self, lines: Sequence[str]) -> None:
        """Type what is to be typed, and compare the screen before each input, and at the end."""
        self._shown = self._terminal.wait(lambda text: text.endswith("\nshop>")).split("\n")[:-1]
        assert self._shown[1:] == [GREETING]
        for line in lines:
            if line.startswith("$ "):
                name, _, argument = line[2:].partition(" ")
                self._actions[name](argument)
            elif found := TYPED.match(line):
                self._expect(found["prompt"])
                typed, _, shown = found["typed"].partition(" ==> ")
                self._terminal.send(typed if typed.endswith("}") else typed + "{Enter}")
                self._shown[-1] += f" {shown or KEY.sub('', typed)}".rstrip()
            else:
                self._shown.append(line.removeprefix("."))
        self._expect(None)
        assert self._terminal.end() == 0

    def _expect(self, prompt: str | None) -> None:
        if prompt is not None:
            self._shown.append(prompt)
        expected = "\n".join(self._shown).rstrip()
        try:
            self._terminal.wait(lambda text: text == expected, 20)
        except AssertionError:
            assert self._terminal.text() == expected, "the screen, and what it should show"


@pytest.mark.parametrize("dialogue", parameters())
async def test_a_dialogue(dialogue: Dialogue, tmp_path: Path) -> None:
    if "PAGER=less" in dialogue.options.get("env", "") and shutil.which("less") is None:
        pytest.skip("there is no less")
    loop = asyncio.get_running_loop()
    options = ServerOptions(
        databases=("shop:en_US.utf8", "other:en_US.utf8"), db_locale="en_US.utf8", seed=SEED,
        log_mode=LogMode(dialogue.options.get("log_mode", "logged")),
    )  # fmt: skip
    async with serve(options) as server:
        terminal = Terminal(
            "shell", folder=tmp_path, environment=_environment(server, dialogue, tmp_path),
            lines=int(dialogue.options.get("lines", 60)), columns=int(dialogue.options.get("columns", 100)),
        )  # fmt: skip

        def interrupt(_: str) -> None:
            running = eventually(lambda: any(each.running for each in server.stats.sessions))
            asyncio.run_coroutine_threadsafe(running, loop).result()
            terminal.send("{C-c}")

        def write(line: str) -> None:
            name, _, text = line.partition(" ")
            (tmp_path / name).write_text(text.replace("/", "\n") + "\n", "utf-8")

        def read(line: str) -> None:
            name, _, text = line.partition(" ")
            path, expected = tmp_path / name, text.replace("/", "\n") + "\n"
            found = eventually(lambda: path.exists() and path.read_text("utf-8") == expected)
            asyncio.run_coroutine_threadsafe(found, loop).result()

        def names(times: str) -> None:
            logins = 1 + int(times or 1)
            stats = eventually(lambda: server.stats.logins >= logins and len(server.stats.sessions) == 1)
            asyncio.run_coroutine_threadsafe(stats, loop).result()

        def screen(text: str) -> None:
            terminal.wait(lambda shown: shown.endswith(text))

        actions: dict[str, Callable[[str], object]] = {
            "interrupt": interrupt,
            "names": names,
            "write": write,
            "read": read,
            "screen": screen,
            "type": terminal.send,
            "lose": lambda _: server.faults.drop_connections(),
        }
        try:
            await asyncio.to_thread(Talk(terminal, actions).hold, dialogue.lines)
        finally:
            terminal.process.close(force=True)


def _environment(server: Server, dialogue: Dialogue, folder: Path) -> dict[str, str]:
    found = {"AIOIFX_DSN": server.dsn, "AIOIFX_PASSWORD": "any", "XDG_STATE_HOME": str(folder), "PAGER": ""}
    given = (text.partition("=") for text in dialogue.options.get("env", "").split())
    return found | {name: value.replace("=", " ") for name, _, value in given}


@pytest.mark.exhaustive  # it starts a process
async def test_an_interrupt_ends_the_shell_while_it_connects(tmp_path: Path) -> None:
    accepted = asyncio.get_running_loop().create_future()
    silent = await asyncio.start_server(lambda _, writer: accepted.set_result(writer), "127.0.0.1")
    host, port = silent.sockets[0].getsockname()
    terminal = Terminal(
        "shell", f"informix://ann@{host}:{port}/shop?server=s",
        folder=tmp_path, environment={"AIOIFX_PASSWORD": "any", "XDG_STATE_HOME": str(tmp_path)},
    )  # fmt: skip
    try:
        writer: asyncio.StreamWriter = await asyncio.wait_for(accepted, 30)
        terminal.send("{C-c}")
        assert await asyncio.to_thread(terminal.end) == 130
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    finally:
        terminal.process.close(force=True)
        silent.close()


SECRETS = [
    "SET ENCRYPTION PASSWORD 'secret';",
    "SET ENCRYPTION\nPASSWORD\n'secret';",
    "SELECT 1; -- SET ENCRYPTION PASSWORD 'secret'",
    "SELECT encrypt_aes('a', 'secret') FROM t;",
    "UPDATE account SET user_password = 'secret';",
    "UPDATE account SET passwd = 'secret';",
    "CONNECT TO'shop' USER 'ann' USING 'secret';",
    "CONNECT {now} TO 'shop' USER 'ann'\nUSING 'secret';",
    "\\c informix://ann:secret@db1/shop",
    "\\c informix://ann:secret/@db1/shop",
    "\\c informix://db1/shop?password=secret",
    "\\c jdbc:informix-sqli://db1:9088/shop:user=ann;password=secret",
    "\\c HOST=db1;PWD=secret",
    "  \\c shop ann secret",
    "SELECT 1;\n\\c\tshop user ann using secret",
    "\\d informix://ann:secret@db1/shop",
]


def test_the_history_has_no_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prompt_toolkit")
    from aioifx.cli.shell.terminal import history, history_file

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = history()
    plain = [
        "SELECT 1;",
        "\\c",
        "\\c other ",
        "GRANT CONNECT TO ann;",
        "\\copy t from a=b.csv",
        "\\c shop\nSELECT 2;",
    ]
    for text in [*plain, *SECRETS]:
        found.append_string(text)
    assert list(found.get_strings()) == [*plain, *SECRETS]
    kept = history_file().read_text("utf-8")
    assert "secret" not in kept
    assert re.findall(r"^\+(.*)", kept, re.M) == "\n".join(plain).split("\n")
    assert history_file().stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("typed", "suggested"), [("SEL", "ECT 1;"), ("SELECT 1;", ""), ("SET", None), ("'", None), ("  ", None)]
)
def test_no_password_is_suggested(typed: str, suggested: str | None) -> None:
    pytest.importorskip("prompt_toolkit")
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.history import InMemoryHistory

    from aioifx.cli.shell.terminal import Suggestions

    buffer = Buffer(history=InMemoryHistory())
    for text in ("SELECT 0;", "SELECT 1;", *SECRETS):
        buffer.history.append_string(text)
    buffer.text = typed
    found = Suggestions().get_suggestion(buffer, buffer.document)
    assert (found and found.text) == suggested


def test_what_the_history_cannot_store_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("prompt_toolkit")
    from aioifx.cli.shell.terminal import history, history_file

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = history()
    found.append_string("SELECT '\udce9';")
    history_file().unlink()
    history_file().parent.rmdir()
    found.append_string("SELECT 1;")
    assert list(found.get_strings()) == ["SELECT '\udce9';", "SELECT 1;"]


def test_a_history_that_cannot_be_written_is_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("prompt_toolkit")
    from aioifx.cli.shell.terminal import history

    (tmp_path / "aioifx").write_text("a file, where a folder is needed", "utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history().append_string("SELECT 1;")
    assert (tmp_path / "aioifx").is_file()


async def test_a_defect_does_not_end_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("prompt_toolkit")
    from aioifx.cli.shell import terminal

    async def fail(*_: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(terminal, "run_entry", fail)
    await terminal.run_input(Shell(Destination("", {}, False)), "SELECT 1;")
    assert capsys.readouterr().err.endswith("ValueError: a defect\n")
