"""Writes the table of docs/reference/options.md: `python .build/option_table.py`; tests/test_docs.py compares.

Each option with its section, the first sentence of its docstring, its type and its default, all from the code.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aioifx.client.config import options

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "options.md"
HEAD: Final = "| option | what it is | type | default |\n|---|---|---|---|\n"


def table(page: str) -> str:
    """The table, with links to the sections of *page*."""
    sentences, sections = _sentences(), _sections(page)
    fields = {field.name: field for field in dataclasses.fields(options.ConnectOptions)}
    lines: list[str] = []
    for name, annotation in options.AllOptionFields.__annotations__.items():
        kind = getattr(annotation, "__forward_arg__", str(annotation)).removesuffix(" | None")
        kind = kind.replace(" | ", "` or `").replace("tls.", "ssl.")
        default = fields[name].default
        shown = "{}" if default is dataclasses.MISSING else repr(default).replace("'", '"')
        lines.append(f"| [`{name}`](#{sections[name]}) | {sentences[name]} | `{kind}` | `{shown}` |\n")
    return HEAD + "".join(lines)


def replaced(page: str) -> str:
    """*page* with the table of the code."""
    begin = page.index("| option |")
    return page[:begin] + table(page) + page[page.index("\n\n", begin) + 1 :]


def _sentences() -> Mapping[str, str]:
    """The first sentence of each field's docstring, as Markdown."""
    tree = ast.parse(inspect.getsource(options))
    (found,) = (
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ConnectOptions"
    )
    sentences: dict[str, str] = {}
    for field, text in zip(found.body, found.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(docstring))):
                words = re.sub(r"``(.+?)``|\*(\w+)\*", r"`\1\2`", " ".join(docstring.split()))
                sentences[name] = re.split(r"(?<=[.])\s+(?=[A-Z\"`]|\d+:)", words)[0].replace("|", "&#124;")
    return sentences


def _sections(page: str) -> Mapping[str, str]:
    """The anchor of the section of each name in code font."""
    headings = re.findall(r"^### (`.*`)$", page, re.M)
    return {
        name: re.sub(r"[^\w-]+", "-", heading.replace("`", "").replace(",", ""))
        for heading in headings
        for name in re.findall(r"`(\w+)`", heading)
    }


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text("utf-8")), encoding="utf-8")
