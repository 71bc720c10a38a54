"""The page of all packages and modules, from their docstrings, their imports and pyproject.toml's layers.

`poe plan` prints it, and `poe docs` writes it before each build; git ignores the file.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

INTRODUCTION = """\
# Packages and modules

This page is generated from the code. The first line of each docstring says what a module knows, and what it must never
know. "Uses" names what a package imports from its neighbours. The layers are checked by import-linter (`poe layers`): a
module imports from layers below its own, never from above; modules that share a layer (`|`) do not import each other.
"""


@dataclass
class Module:
    name: str  # dotted
    purpose: str
    never: str
    imports: set[str] = field(default_factory=set[str])  # dotted names below aioifx


@dataclass
class Package(Module):
    modules: list[Module] = field(default_factory=list[Module])


def module_of(path: Path, kind: type[Module] = Module) -> Any:
    """The module in *path*; of one in Cython only the docstring is Python."""
    source = path.read_text("utf-8")
    if path.suffix == ".pyx":
        source = source[: source.index('"""', source.index('"""') + 3) + 3]
    tree = ast.parse(source)
    purpose, _, never = (ast.get_docstring(tree) or "").partition("\n")[0].partition(" Never: ")
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    imports = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aioifx")
        for alias in node.names
    }
    return kind(name, purpose, never.removesuffix("."), imports)


def packages() -> Iterator[Package]:
    """Every package, each after the one that holds it, with its modules by name."""
    for init in sorted((ROOT / "aioifx").rglob("__init__.py")):
        package: Package = module_of(init, Package)
        package.modules = [
            module_of(path)
            for path in sorted(init.parent.iterdir())
            if path.suffix in (".py", ".pyx") and path.name != "__init__.py"
        ]
        yield package


def layers() -> dict[str, list[str]]:
    """The layers of each package that has some, from the top down."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {
        container: contract["layers"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
        for container in contract.get("containers", [])
    }


def neighbours(package: Package, everything: list[Package]) -> list[str]:
    """What *package*, with all that it holds, imports of the packages and modules next to it."""
    parent = package.name.rpartition(".")[0]
    inside = package.name + "."
    imported = {
        name
        for part in everything
        for module in [part, *part.modules]
        if module.name == package.name or module.name.startswith(inside)
        for name in module.imports
        if name.startswith(f"{parent}.") and not name.startswith(inside)
    }
    return sorted({name.removeprefix(f"{parent}.").partition(".")[0] for name in imported if name != parent})


def cell(text: str) -> str:
    return re.sub(r"([|<])", r"\\\1", text)


def section(package: Package, everything: list[Package], order: list[str]) -> Iterator[str]:
    yield f"## `{package.name}`\n"
    yield f"{cell(package.purpose)} Never: {cell(package.never)}.\n"
    if "." in package.name and (used := neighbours(package, everything)):
        yield f"Uses: {', '.join(f'`{name}`' for name in used)}.\n"
    if order:
        yield "```text\n" + "\n".join(order) + "\n```\n"
    if package.modules:
        yield "| module | knows | never |\n|---|---|---|"
        for module in package.modules:
            name = module.name.rpartition(".")[2]
            yield f"| `{name}` | {cell(module.purpose)} | {cell(module.never)} |"
        yield ""


def page() -> str:
    everything = list(packages())
    order = layers()
    return "\n".join(
        [
            INTRODUCTION,
            *(
                line
                for package in everything
                for line in section(package, everything, order.get(package.name, []))
            ),
        ]
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(page(), "utf-8")
    else:
        sys.stdout.buffer.write(page().encode())
