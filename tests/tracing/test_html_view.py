from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from aioifx import TraceEvent
from aioifx.errors import InterfaceError
from aioifx.tracing import html_view
from aioifx.tracing.conversation import Summary, read_trace
from aioifx.tracing.html_view import write_page
from tests.tracing.test_conversation import ask, received, sent
from tests.tracing.test_text_view import EVENTS

VOID = {"meta", "col", "br"}


class Page(HTMLParser):
    """Elements that are open, names of all, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(events: list[TraceEvent], path: Path, title: str = "x") -> Page:
    write_page(events, Summary(), path, title=title)
    page = Page(path.read_text("utf-8"))
    assert page.open == []
    return page


def test_a_page_holds_the_conversation_and_needs_nothing_else(tmp_path: Path) -> None:
    page = page_of(EVENTS, tmp_path / "x.html")
    assert page.names.count("details") == 2
    assert "select a from t" in page.text and "SQ_TUPLE \u00d7 1,500" in page.text
    assert "250.0 ms" in page.text
    assert not {"script", "link", "img", "iframe"} & {*page.names}
    assert all(
        value is None or "//" not in value for name, value in page.attributes if name in ("src", "href")
    )
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


def test_links_lead_to_round_trips(tmp_path: Path) -> None:
    page = page_of(EVENTS, tmp_path / "x.html")
    anchors = {value for name, value in page.attributes if name == "id"}
    links = [value.removeprefix("#") for name, value in page.attributes if name == "href" and value]
    assert links and {*links} <= anchors


def test_texts_cannot_become_elements(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'&\x1b"
    events = [sent(1.0, "SQ_PREPARE", sql=evil), received(1.5, "SQ_ERR", sqlcode=-1, token=evil)]
    page = page_of(
        [*events, TraceEvent(2.0, 0, "failed", fields={"reason": evil})], tmp_path / "x.html", evil
    )
    assert "script" not in page.names and "\x1b" not in page.text
    assert page.text.count("<script>") >= 4


def test_errors_are_marked(tmp_path: Path) -> None:
    bad = [sent(1.0, "SQ_EOT"), received(1.5, "SQ_ERR", sqlcode=-217), received(1.5, "SQ_EOT")]
    page = page_of([*bad, *ask(2.0, 2)], tmp_path / "x.html")
    assert [value for name, value in page.attributes if name == "class"].count("error") == 1


def test_a_page_is_sorted_by_time_and_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = ask(1.0, connection=1, wait=1.0), ask(1.5, connection=2, wait=0.1)
    page = page_of([slow[0], *quick, slow[1]], tmp_path / "x.html")
    assert page.text.index("1.1") < page.text.index("2.1")
    monkeypatch.setattr(html_view, "MAX_STEPS", 2)
    short = page_of(
        [event for number in range(5) for event in ask(float(number), number)], tmp_path / "y.html"
    )
    assert short.names.count("details") == 2 and "ends after 2 entries" in short.text


def test_many_equal_groups_are_shown_once(tmp_path: Path) -> None:
    events = [sent(1.0, "SQ_EOT", number) for number in range(1, 9)]
    page = page_of(
        [*events, *(received(1.5, "SQ_EOT", number) for number in range(1, 9))], tmp_path / "x.html"
    )
    assert page.text.count("8 times") == 2


def test_a_file_that_is_not_a_trace_writes_no_page(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nonsense\n")
    with pytest.raises(InterfaceError):
        write_page(read_trace(tmp_path / "x"), Summary(), tmp_path / "x.html", title="x")
    assert not (tmp_path / "x.html").exists()
