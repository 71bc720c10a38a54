"""Template strings for tests: real t-strings from Python 3.14 on, before it stand-ins of the same attributes."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Interpolation:
    """As `string.templatelib.Interpolation`."""

    value: Any
    expression: str
    conversion: str | None
    format_spec: str


@dataclass(frozen=True, slots=True)
class Template:
    """As `string.templatelib.Template`."""

    strings: tuple[str, ...]
    interpolations: tuple[Interpolation, ...]


Template.__module__ = Interpolation.__module__ = "string.templatelib"


def template(text: str, /, **names: Any) -> Any:
    """What ``t"..."`` with this text gives where *names* are defined."""
    if sys.version_info >= (3, 14):
        return eval(f"t{text!r}", {}, names)
    parsed = ast.parse(f"f{text!r}", mode="eval").body
    assert isinstance(parsed, ast.JoinedStr)
    strings, interpolations = [""], list[Interpolation]()
    for part in parsed.values:
        if isinstance(part, ast.FormattedValue):
            interpolations.append(_interpolation(part, names))
            strings.append("")
        else:
            strings[-1] += _constant(part)
    return Template(tuple(strings), tuple(interpolations))


def _interpolation(part: ast.FormattedValue, names: dict[str, Any]) -> Interpolation:
    expression = ast.unparse(part.value)
    spec = "" if part.format_spec is None else "".join(map(_constant, ast.walk(part.format_spec)))
    conversion = None if part.conversion < 0 else chr(part.conversion)
    return Interpolation(eval(expression, {}, names), expression, conversion, spec)


def _constant(node: ast.AST) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""
