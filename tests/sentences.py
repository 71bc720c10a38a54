"""Sentences of documentation that are too long to read in one go: pages in Markdown, docstrings of aioifx, and the
docstrings and comments of its Cython.

`tests.vocabulary` counts and records them. Tables, code, headings, directives, and evidence with its sources are not
sentences. A code span is one word, and so is a list of code spans. Names between ` · ` are apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

MOST_WORDS = 25


class Paragraph(NamedTuple):
    line: int
    text: str


_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_NO_PROSE = re.compile(r"\s*(?:\||#|!!!|\?\?\?|===|:::|<|!\[|\[[^]]+\]:|-{3,}$|\*{3,}$|\{[%{]|>>>|\.\. )")
_ITEM = re.compile(r"^\s*(?:(?:[-*+]|\d+\.)\s+|:\s{2,})")

_IMAGE_OR_LINK = re.compile(r"!?\[([^]]*)\](?:\([^)\s]*(?:\s\"[^\"]*\")?\)|\[[^]]*\])(?:\{[^}]*\})?")
_CODE = re.compile(r"(`+).+?\1")
_CODES = re.compile(r"\0(?:(?:,|,? and|,? or|,? to|:|\.\.|/| \+)*\s*\0)+")
_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[.!?][)*_\"”]*\s+(?=[A-Z0-9\0*_(\"“\[+:-]|\w+:\s)"
)
_WORD = re.compile(r"\S*[\w\0]\S*")

_SECTION = re.compile(r"(?:Args|Returns|Raises|Yields|Never|Attributes):\s")
_NO_TEXT = re.compile(r"(?:Wire|Source|Evidence|Example):")
_EVIDENCE = re.compile(r"\s*\((?:documented|observed|assumed)\b[^()]*\)")
_START = re.compile(rf"{_ITEM.pattern}|\s*(?:{_SECTION.pattern}|{_NO_TEXT.pattern})")

_CYTHON = re.compile(
    r"""(?P<c>cdef\ extern\ from\ [^\n]*\n\s*\"{3}.*?\"{3})
      | \"{3}(?P<text>.*?)\"{3}
      | (?P<string>"[^"\n]*")
      | (?:^[ \t]*\#(?!\ cython:|\ ---)[^\n]*\n)+
      | \#(?!\ cython:|\ ---)[^\n]*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_HASH = re.compile(r"^[ \t]*#[ \t]?", re.MULTILINE)


def paragraphs(page: str) -> Iterator[Paragraph]:
    """The running text of a page in Markdown: paragraphs, list items, and the text of admonitions."""
    fence, start, parts = "", 0, list[str]()
    for number, line in enumerate([*page.split("\n"), ""], 1):
        opening = _FENCE.match(line)
        if fence or opening or not line.strip() or _NO_PROSE.match(line) or _START.match(line):
            if parts:
                yield Paragraph(start, " ".join(parts))
            parts = []
        if opening and (not fence or opening[1].startswith(fence)):
            fence = "" if fence else opening[1]
        elif not fence and line.strip() and not _NO_PROSE.match(line):
            start = start if parts else number
            parts.append(_ITEM.sub("", line, count=1).strip())


def docstrings(source: str) -> Iterator[Paragraph]:
    """The paragraphs of the docstrings of a module, attributes included, without layouts and citations."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node.value.value, str):
            for start, text in paragraphs(_without_code(node.value.value)):
                line = node.lineno + start - 1
                if not _NO_TEXT.match(text):
                    yield Paragraph(line, _SECTION.sub("", text, count=1).strip())


def cython_texts(source: str) -> Iterator[Paragraph]:
    """The paragraphs of docstrings and comments in Cython; C code in quotes and directives are not text."""
    for match in _CYTHON.finditer(source):
        if match["c"] or match["string"]:
            continue
        line = source.count("\n", 0, match.start("text") if match["text"] else match.start()) + 1
        text = _without_code(match["text"]) if match["text"] else _HASH.sub("", match[0])
        for start, paragraph in paragraphs(text):
            if not _NO_TEXT.match(paragraph):
                yield Paragraph(line + start - 1, _SECTION.sub("", paragraph, count=1).strip())


def _without_code(docstring: str) -> str:
    """Lines that are indented below the docstring's own margin, after a blank line, are code or a drawing."""
    lines = docstring.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    kept, drawing = lines[:1], False
    for before, line in pairwise(lines):
        deeper = len(line) - len(line.lstrip()) > margin
        drawing = deeper and (drawing or not before.strip())
        kept.append("" if drawing else line)
    return "\n".join(kept)


def sentences(text: str) -> list[str]:
    text = _EVIDENCE.sub("", _IMAGE_OR_LINK.sub(r"\1", _CODE.sub("\0", text).replace("\\", "")))
    return _END.sub("\n", _CODES.sub("\0", text).replace(" · ", "\n")).split("\n")


def length(sentence: str) -> int:
    return len(_WORD.findall(sentence))


def long_sentences(path: Path) -> Iterator[tuple[int, str]]:
    """The line of the paragraph, and the sentence's length and first words."""
    source = path.read_text("utf-8")
    texts = {".md": paragraphs, ".py": docstrings}.get(path.suffix, cython_texts)
    for line, text in texts(source):
        for sentence in sentences(text):
            if (count := length(sentence)) > MOST_WORDS:
                beginning = " ".join(sentence.split()[:8]).replace("\0", "`...`")
                yield line, f"{count} words: {beginning}"
