"""The documentation is complete, and its code runs."""

from __future__ import annotations

import ast
import asyncio
import enum
import importlib
import importlib.util
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import aioifx
import aioifx.bson
import aioifx.dbapi
import aioifx.diagnosis
import aioifx.server
import aioifx.testing
import aioifx.testing.messages
import aioifx.testing.script
import aioifx.verify
from aioifx.client.config.options import AllOptionFields
from aioifx.partitions import Source

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
REFERENCE = sorted((DOCS / "reference").rglob("*.md"))

# Members of public classes that are for other modules of ours.
INTERNAL = {
    "aioifx.ConnectOptions": {
        "date_hint", "destination", "for_question", "in_locale", "keepalive_times",
        "login_environment", "observation", "sends_optofc", "session_environment", "ssl_context", "uses_tls",
        "without_optofc",
    },
    "aioifx.CsvFormat": {"continues", "join", "names", "split"},
    "aioifx.Lob": {"duplicate"},
    "aioifx.dbapi.Connection": {  # the exceptions
        "DataError", "DatabaseError", "Error", "IntegrityError", "InterfaceError", "InternalError",
        "NotSupportedError", "OperationalError", "ProgrammingError", "Warning",
    },
    "aioifx.Retry": {"pause", "run"},
    "aioifx.UnloadFormat": {"continues", "join", "split"},
    "aioifx.partitions.Source": {"is_query"},
    "aioifx.server.Routine": {"result"},
    "aioifx.server.ServerOptions": {"first_database"},
    "aioifx.server.StatementLog": {"append", "includes"},
    "aioifx.server.StatementRecord": {"fail", "kind", "line"},
    "aioifx.testing.Server": {"close", "last_statement", "last_statements"},
}  # fmt: skip
# Documented names that are neither functions nor properties: the page of their class describes them.
ATTRIBUTES = {
    "aioifx.Lob.locator",
    "aioifx.Lob.is_text",
    "aioifx.Connection.server_version",
    "aioifx.Cursor.arraysize",
    "aioifx.dbapi.Cursor.arraysize",
    "aioifx.dbapi.Cursor.connection",
    "aioifx.dbapi.Cursor.messages",
    "aioifx.Changes.lag",
    "aioifx.CommittedTransaction.position",
    "aioifx.CommittedTransaction.time",
    "aioifx.CommittedTransaction.transaction",
    "aioifx.CommittedTransaction.user",
    "aioifx.Events.session_id",
    "aioifx.Events.skipped",
    "aioifx.IntervalYM.total_months",
}

FENCE = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$", re.M | re.S)
HAS_RAY = importlib.util.find_spec("ray") is not None
CONNECTED_TO_EXAMPLE = re.compile(
    r"""(\b(?:connect|create_pool|create_(?:async_)?engine)\(\s*)(["'])(informix(?:\+aioifx)?)://.*?(&[^"']*)?\2""",
    re.S,
)


# Blocks marked py3 have the syntax of Python 3.14.
RUN = ("python", "py3") if sys.version_info >= (3, 14) else ("python",)


def blocks(page: Path, *languages: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of *languages*, each with the number of its first line."""
    text = page.read_text("utf-8")
    for match in FENCE.finditer(text):
        if match[2] in languages:
            body = re.sub(f"^{match[1]}", "", match[3], flags=re.M)
            yield text.count("\n", 0, match.start(3)) + 1, body


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def programs() -> Iterator[Any]:
    """Every page with code. That on Ray, which is large and has warnings of its own, runs where Ray is."""
    for page in PAGES:
        if any(blocks(page, "python")):
            is_ray = page.stem == "ray"
            missing = pytest.mark.skipif(
                is_ray and not HAS_RAY, reason="Ray is not installed: pip install 'aioifx[ray]'"
            )
            ways = [missing, pytest.mark.filterwarnings("default")] if is_ray else []
            yield pytest.param(page, marks=ways, id=name_of(page))


@pytest.mark.parametrize("page", [*programs()])
async def test_python_blocks_run_against_the_embedded_server(
    page: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One page is one program: its blocks share their names, from top to bottom.
    monkeypatch.setenv("AIOIFX_DSN", dsn)
    names: dict[str, Any] = {"__name__": "__main__", "dsn": dsn}
    for line, block in blocks(page, *RUN):
        source = CONNECTED_TO_EXAMPLE.sub(
            lambda match: f"{match[1]}{dsn.replace('informix', match[3], 1) + (match[4] or '')!r}", block
        )
        code = compile(
            "\n" * (line - 1) + source,  # so that a traceback points into the page
            str(page),
            "exec",
            ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)
        else:  # in a thread, because a whole program brings its own asyncio.run
            await asyncio.to_thread(exec, code, names)


def test_readme_starts_with_two_blocks_of_one_command_each() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = re.search(r"^## Start$(.*?)(?=^## |\Z)", readme, re.M | re.S)
    assert section, "README.md has no section Start"
    commands = [match[3] for match in FENCE.finditer(section[1])]
    assert [match[2] for match in FENCE.finditer(section[1])] == ["sh", "sh"]
    assert [len(command.splitlines()) for command in commands] == [1, 1]
    assert "pytest" in commands[1], ".ci/run takes the second one for the tests"


def test_the_example_of_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    example = next(body for _, body in blocks(ROOT / "README.md", "python"))
    exec(compile(example, "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})
    shown = next(body for _, body in blocks(ROOT / "README.md", "text"))
    assert capsys.readouterr().out == shown


def test_the_readme_is_short_and_its_figures_are_those_of_the_page_on_speed() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) < 120
    figures = re.findall(r"^\| (`?\w.*?) \| ([\d.]+) \| ([\d.]+) \|$", readme, re.M)
    assert len(figures) == 4
    measured = (DOCS / "explanation" / "speed.md").read_text("utf-8")
    for _, *multiples in figures:
        pair = r" \[\S+\] \| ".join(map(re.escape, multiples))
        assert re.search(rf"native \|.* {pair} \[", measured), multiples


@pytest.mark.exhaustive
def test_the_picture_of_the_terminal_shows_what_doctor_says() -> None:
    terminal = build_script("terminal")
    drawn = terminal.PICTURE.read_text("utf-8")
    assert terminal.words(drawn) == terminal.words(terminal.draw()), "run python .build/terminal.py"
    assert any("-> server: ol_shop" in text for text in terminal.words(drawn))
    assert "http" not in drawn.replace("http://www.w3.org/", "").replace("https://www.textualize.io", "")


def reference_headings() -> set[str]:
    """Every name in code font in a heading of the reference, without what a signature adds to it."""
    return {
        name
        for page in REFERENCE
        for heading in re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
        for name in re.findall(r"`([\w.]+)[^`]*`", heading)
    }


def directives(options: str = "") -> list[str]:
    """Every name that the reference takes from the code, as `aioifx.Connection.fetch`, with these *options*."""
    return [
        name
        for page in REFERENCE
        for name in re.findall(rf"^(?:#+ )?::: (aioifx[\w.]*){options}$", page.read_text("utf-8"), re.M)
    ]


def public_classes() -> dict[str, type]:
    named = [
        ("aioifx", aioifx),
        ("aioifx.bson", aioifx.bson),
        ("aioifx.diagnosis", aioifx.diagnosis),
        ("aioifx.server", aioifx.server),
        ("aioifx.testing", aioifx.testing),
        ("aioifx.verify", aioifx.verify),
    ]
    found = {
        f"{path}.{name}": getattr(module, name)
        for path, module in named
        for name in module.__all__
        if inspect.isclass(getattr(module, name))
    }
    return found | {
        "aioifx.partitions.Source": Source,
        "aioifx.dbapi.Connection": aioifx.dbapi.Connection,
        "aioifx.dbapi.Cursor": aioifx.dbapi.Cursor,
    }


def public_members(cls: type) -> set[str]:
    """Methods and properties of *cls* and of what it inherits from us. Fields are in its docstring."""
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("aioifx") and not issubclass(base, BaseException)
        for name, member in vars(base).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod)))
    }


def test_every_public_name_is_in_the_reference() -> None:
    public = {f"aioifx.{name}" for name in aioifx.__all__} - {"aioifx.rows", "aioifx.speedups"}
    for module in (aioifx.bson, aioifx.diagnosis, aioifx.server):
        public |= {f"{module.__name__}.{name}" for name in module.__all__}
    public |= {f"aioifx.testing.{name}" for name in aioifx.testing.__all__}
    public |= {
        f"aioifx.dbapi.{name}"
        for name in aioifx.dbapi.__all__
        if getattr(getattr(aioifx.dbapi, name), "__module__", "") == "aioifx.dbapi"
    }
    public |= {f"aioifx.verify.{name}" for name in aioifx.verify.__all__} - {"aioifx.verify.CHECKS"}
    assert public - set(directives()) == set()
    assert "speedups" in reference_headings()


def test_every_public_member_is_in_the_reference() -> None:
    documented = set(directives())
    whole = set(directives(r"\n    options:\n(?:      .*\n)*?      members: null"))
    for path, cls in public_classes().items():
        if not issubclass(cls, enum.Enum) and path not in whole:
            missing = {name for name in public_members(cls) if f"{path}.{name}" not in documented}
            assert missing == INTERNAL.get(path, set()), path


def test_the_reference_shows_each_name_once() -> None:
    names = directives()
    assert sorted(names) == sorted(set(names))


def test_every_documented_name_says_what_it_is() -> None:
    for path in directives():
        module, parts = aioifx, path.split(".")[1:]
        if parts[0] == "ray" and not HAS_RAY:
            continue
        extras = "arrow asgi dask dbapi otel partitions ray rows server testing verify"
        if parts[0] in extras.split():
            module = importlib.import_module(f"aioifx.{parts.pop(0)}")
        owner, name = module, parts[-1]
        for part in parts[:-1]:
            owner = getattr(owner, part)
        if inspect.ismodule(owner):
            getattr(owner, name)  # some are imported on use
        if path not in ATTRIBUTES:
            assert inspect.getdoc(inspect.getattr_static(owner, name)), f"{path} has no docstring"


def test_the_tree_of_errors_is_that_of_the_classes() -> None:
    block = next(body for _, body in blocks(DOCS / "reference" / "errors.md", "text"))
    above: list[str] = []
    for line in block.splitlines():
        name = line.lstrip("│├└─ ")
        depth = (len(line) - len(name)) // 3
        if name not in ("Error", "Warning"):
            assert getattr(aioifx, name).__bases__[0].__name__ == above[depth - 1]
        above[depth:] = [name]
    errors = {name for name, cls in public_classes().items() if issubclass(cls, Exception)}
    assert {f"aioifx.{name}" for name in re.findall(r"\w+", block)} == errors


def test_every_connect_option_has_a_heading_in_the_reference() -> None:
    assert set(AllOptionFields.__annotations__) - reference_headings() == set()


def test_the_index_links_to_every_guide() -> None:
    linked = set(re.findall(r"\]\((howto/[\w-]+\.md)\)", (DOCS / "index.md").read_text("utf-8")))
    assert linked == {page.relative_to(DOCS).as_posix() for page in (DOCS / "howto").glob("*.md")}


def build_script(name: str) -> Any:
    """A module of .build, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".build" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_is_named_after_the_version() -> None:
    config = SimpleNamespace(site_name="aioifx")
    assert build_script("site_name").on_config(config).site_name == f"aioifx {project_version()}"


def test_the_diagrams_are_those_that_the_script_draws() -> None:
    diagrams = build_script("diagrams")
    assert {path.stem for path in (DOCS / "explanation" / "diagrams").iterdir()} == set(diagrams.DRAWINGS)
    for name, draw in diagrams.DRAWINGS.items():
        assert diagrams.path_of(name).read_text("utf-8") == str(draw()), "run python .build/diagrams.py"


def test_the_table_of_options_is_that_of_the_code() -> None:
    script = build_script("option_table")
    page = script.PAGE.read_text("utf-8")
    assert page == script.replaced(page), "run python .build/option_table.py"
    assert page.count("| [`") == len(AllOptionFields.__annotations__)


def project_version() -> str:
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return version


def test_the_changelog_has_the_version_that_is_built() -> None:
    assert re.search(
        rf"^## {re.escape(project_version())}$", (DOCS / "changelog.md").read_text("utf-8"), re.M
    )
