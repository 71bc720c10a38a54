"""For `poe docs`: docstrings as written in the code become sections that mkdocstrings shows.

Our sections begin on the line of their heading, and one line may hold several parameters::

    Args:     sql: the query. args: the values of its placeholders.
              timeout: seconds; None: command_timeout.
    Raises:   QueryTimeout: the call took longer.

griffe reads sections in Google's style, so that is what they are turned into. Names of the reference that stand between
single backticks become links. The first sentence of a module's docstring ends where "Never:" begins: what a module must
not know is for those who work on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from griffe import Attribute, Class, Extension, Function, GriffeLoader, Module, Object

REFERENCE: Final = Path(__file__).parents[1] / "docs" / "reference"

_DIRECTIVE: Final = re.compile(r"^(?:#+ )?::: (aioifx[\w.]*)$", re.M)
_SECTION: Final = re.compile(r"^(Args|Raises|Returns|Yields|Source):[ ]+(\S.*(?:\n[ ]+\S.*)*)$", re.M)
_NAME: Final = re.compile(r"(?<![`\w\]])`([A-Za-z_][\w.]*)`(?![`\w\]])")
_ERRORS: Final = r"[A-Z]\w+(?:, [A-Z]\w+)*"


def documented_names() -> set[str]:
    """Every name that a page of the reference has a directive for."""
    return {name for page in REFERENCE.glob("*.md") for name in _DIRECTIVE.findall(page.read_text("utf-8"))}


def _items(body: str, names: str) -> tuple[str, list[tuple[str, str]]]:
    """The text before the first item, and the items: their names as they are written, and their text."""
    item = re.compile(rf"(?:\A|(?<=[.;:`]) +|\n *)({names}): ")
    parts = item.split(re.sub(r"\n +", "\n", body))
    texts = [re.sub(";$", ".", " ".join(part.split())) for part in parts]
    return texts[0], list(zip(texts[1::2], texts[2::2], strict=True))


def _args(body: str, params: Collection[str]) -> str:
    either = "|".join(sorted(map(re.escape, params), key=len, reverse=True))
    rest, items = _items(body, rf"\*{{0,2}}(?:{either})(?:, (?:{either}))*") if either else (body, [])
    lines = [f"    {name}: {text}" for group, text in items for name in group.split(", ")]
    shown = "Args:\n" + "\n".join(lines) if lines else ""
    return "\n\n".join(filter(None, [shown, rest and f"Arguments: {' '.join(rest.split())}"]))


def _raises(body: str) -> str:
    rest, items = _items(body, rf"(?:On [a-z ]+, )?{_ERRORS}(?:,? (?:when|on|if) [^:.]*)?")
    lines: list[str] = []
    for head, text in items:
        names = re.search(_ERRORS, head.removeprefix("On "))
        assert names
        said = head.replace(names[0], "").strip(", ")
        lines += [f"    {name}: {said + ', ' if said else ''}{text}" for name in names[0].split(", ")]
    shown = "Raises:\n" + "\n".join(lines) if lines else ""
    rest = f"Raises {' '.join(rest.split())}" if rest else ""
    return "\n\n".join(filter(None, [shown, rest]))


def as_google(text: str, params: Collection[str]) -> str:
    """The docstring *text* of something with these *params*, with its sections in Google's style."""

    def section(match: re.Match[str]) -> str:
        title, body = match.groups()
        if title == "Args":
            return _args(body, params)
        if title == "Raises":
            return _raises(body)
        if title == "Source":
            return f"Source: {' '.join(body.split())}"
        return f"{title}:\n    {' '.join(body.split())}"

    # A section that follows another one without an empty line gets one.
    spaced = _SECTION.sub(lambda match: f"\n{section(match)}\n", text)
    return re.sub(r"\n{3,}", "\n\n", spaced).strip()


def with_links(text: str, owner: str, documented: Collection[str]) -> str:
    """*text* with a link for each `name` that is *documented*, by itself or as a member of *owner*."""

    def link(match: re.Match[str]) -> str:
        name = match[1]
        for path in (f"{owner}.{name}", name, f"aioifx.{name}"):
            if path in documented and path != owner:
                return f"[`{name}`][{path}]"
        return match[0]

    return _NAME.sub(link, text)


class Docstrings(Extension):
    """Turns every docstring of the package."""

    def on_package(self, *, pkg: Module, loader: GriffeLoader, **kwargs: Any) -> None:
        documented = documented_names()
        owners = _public_owners(documented)
        for obj in _everything(pkg):
            if obj.docstring is None:
                continue
            text = as_google(obj.docstring.value, _params(obj))
            if isinstance(obj, Module):
                text = re.sub(r" Never: .*", "", text, count=1)
            parent = obj.parent.name if isinstance(obj.parent, Class) else obj.name
            obj.docstring.value = with_links(text, owners.get(parent, f"aioifx.{parent}"), documented)
            if isinstance(obj, Class):
                _add_fields(obj)


def _public_owners(documented: Collection[str]) -> dict[str, str]:
    """From a class's own name to its name in the reference. What two classes share is shown as the first one's."""
    owners = {"Queries": "aioifx.Connection"}
    for path in documented:
        owners.setdefault(path.rpartition(".")[2], path)
    return owners


def _everything(obj: Object) -> Iterator[Object]:
    yield obj
    for member in obj.members.values():
        if not member.is_alias and isinstance(member, Object):
            yield from _everything(member)


def _params(obj: Object) -> list[str]:
    """Names of what a function or class is called with."""
    if isinstance(obj, Function):
        return [param.name for param in obj.parameters if param.name not in ("self", "cls")]
    if isinstance(obj, Class):
        init = obj.members.get("__init__")
        return _params(init) if isinstance(init, Function) else [field.name for field in _fields(obj)]
    return []


def _fields(cls: Class) -> list[Object]:
    """The fields of a dataclass or named tuple."""
    if "dataclass" not in cls.labels and "NamedTuple" not in map(str, cls.bases):
        return []
    return [
        member
        for name, member in cls.members.items()
        if isinstance(member, Attribute)
        and not name.startswith("_")
        and member.annotation is not None
        and "ClassVar" not in str(member.annotation)
        and "property" not in member.labels
    ]


def _add_fields(cls: Class) -> None:
    """Give a class of fields a section with those that say what they are, unless it has one."""
    text = cls.docstring.value if cls.docstring else ""
    fields = [field for field in _fields(cls) if field.docstring]
    if cls.docstring and fields and not re.search(r"^(Args|Attributes):$", text, re.M):
        lines = [
            f"    {field.name}: {' '.join(field.docstring.value.split())}"
            for field in fields
            if field.docstring
        ]
        cls.docstring.value = "\n".join([text, "", "Attributes:", *lines])
