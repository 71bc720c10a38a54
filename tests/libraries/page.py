"""The examples of docs/howto/libraries.md that need more than aioifx's own environment: the programs run them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import sqlalchemy as sa

PAGE = Path(__file__).parents[2] / "docs/howto/libraries.md"
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


def run_example(heading: str, number: int, names: dict[str, Any], url: str | sa.URL) -> dict[str, Any]:
    """Run a block below a heading of the page in *names*, with the address of *url* and the page's options."""

    def replacement(match: re.Match[str]) -> str:
        options = {name: value for name, value in sa.make_url(match[0]).query.items() if name != "server"}
        own = sa.make_url(url).difference_update_query(["timezone", "text_type"])
        return own.update_query_dict(options).render_as_string(False)

    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    code = re.sub(r'informix\+aioifx://[^"]*', replacement, BLOCK.findall(section)[number])
    exec(compile(code, f"{PAGE.name}: {heading}", "exec", dont_inherit=True), names)
    return names
