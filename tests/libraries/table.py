"""The libraries of libraries.toml, their versions in requirements.txt, and the table of the page about them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
PAGE = HERE.parents[1] / "docs/reference/libraries.md"
TOOLS = ("pytest", "pytest-asyncio")
"""What runs the tests, beside the libraries."""


@dataclass(frozen=True)
class Library:
    """An entry of libraries.toml, whose comment at the top explains the fields."""

    key: str
    name: str
    works: str
    passed: int
    lacks: str = ""
    option: str = ""
    needs: Sequence[str] = ()
    suite: Sequence[str] = ()
    unpacked: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    instead_of: Sequence[str] = ()
    pretended: Sequence[str] = ()
    left_out: Sequence[str] = ()
    not_run: Sequence[str] = ()
    differs: dict[str, str] = field(default_factory=dict)

    @property
    def program(self) -> Path:
        """A test of ours that does what the library's users do; not every library has one."""
        return HERE / f"programs/{self.key}.py"

    @property
    def distribution(self) -> str:
        return self.key.replace("_", "-")

    @property
    def version(self) -> str:
        return versions()[self.distribution]


def libraries() -> list[Library]:
    """All of them, in the order of the file."""
    entries = tomllib.loads((HERE / "libraries.toml").read_text("utf-8"))
    return [Library(key, **fields) for key, fields in entries.items()]


def versions() -> dict[str, str]:
    """The pinned version of each distribution."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", REQUIREMENTS.read_text("utf-8"), re.M))


def distributions() -> list[str]:
    """What an update resolves: the libraries, what they need for these tests, and pytest."""
    found = {name for library in libraries() for name in library.needs or (library.distribution,)}
    return sorted({*found, *TOOLS})


def page_table() -> str:
    """The table of docs/reference/libraries.md."""
    rows = [
        "| library | tests | what works | options of the URL | what Informix lacks |",
        "|---|---|---|---|---|",
    ]
    for each in sorted(libraries(), key=lambda library: library.name.lower()):
        options = " ".join(f"`{option}`" for option in filter(None, each.option.split("&")))
        rows.append(
            f"| {each.name} {each.version} | {each.passed} | {each.works} | {options} | {each.lacks} |"
        )
    return "\n".join(rows)


def write_page() -> None:
    """Write the table into the page."""
    introduction = PAGE.read_text("utf-8").partition("| library |")[0]
    PAGE.write_text(f"{introduction}{page_table()}\n", "utf-8")


if __name__ == "__main__":
    write_page()
