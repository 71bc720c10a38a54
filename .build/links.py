"""For `poe docs`: names of the reference in single backticks become links in docstrings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from griffe import Class, Extension, GriffeLoader, Module, Object

REFERENCE: Final = Path(__file__).parents[1] / "docs" / "reference"

_DIRECTIVE: Final = re.compile(r"^(?:#+ )?::: (aioifx[\w.]*)$", re.M)
_NAME: Final = re.compile(r"(?<![`\w\]])`([A-Za-z_][\w.]*)`(?![`\w\]])")


def documented_names() -> set[str]:
    """Every name that a page of the reference has a directive for."""
    return {name for page in REFERENCE.glob("*.md") for name in _DIRECTIVE.findall(page.read_text("utf-8"))}


def with_links(text: str, owner: str, documented: Collection[str]) -> str:
    """*text* with a link for each `name` that is *documented*, by itself or as a member of *owner*."""

    def link(match: re.Match[str]) -> str:
        name = match[1]
        for path in (f"{owner}.{name}", name, f"aioifx.{name}"):
            if path in documented and path != owner:
                return f"[`{name}`][{path}]"
        return match[0]

    return _NAME.sub(link, text)


class Links(Extension):
    """Adds links to every docstring of the package."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **kwargs: Any) -> None:
        documented = documented_names()
        # From a class's own name to its name in the reference. What two classes share is shown as the first one's.
        owners = {"Queries": "aioifx.Connection"}
        for path in sorted(documented):
            owners.setdefault(path.rpartition(".")[2], path)
        for obj in _everything(pkg):
            if obj.docstring is not None:
                parent = obj.parent.name if isinstance(obj.parent, Class) else obj.name
                obj.docstring.value = with_links(
                    obj.docstring.value, owners.get(parent, f"aioifx.{parent}"), documented
                )


def _everything(obj: Object) -> Iterator[Object]:
    yield obj
    for member in obj.members.values():
        if not member.is_alias and isinstance(member, Object):
            yield from _everything(member)
