"""Records of text in UNLOAD's format and in CSV."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.client.bulk.arguments import TextFormat, TextRecord
from aioifx.client.bulk.text_formats import (
    CsvFormat,
    RecordReader,
    UnloadFormat,
    async_records,
    format_by_name,
    format_of,
    records,
)
from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError, InterfaceError
from tests.counting import lines_run

UNLOAD = UnloadFormat()
CSV = CsvFormat()


def read(text: str | bytes, form: TextFormat = UNLOAD) -> list[TextRecord]:
    return list(records([text], form))


def outcome(chunks: Iterable[str | bytes], form: TextFormat) -> tuple[list[TextRecord], str]:
    """The records that came, and the error that followed them, if one did."""
    found: list[TextRecord] = []
    try:
        for record in records(chunks, form):
            found.append(record)
    except DataError as error:
        return found, str(error)
    return found, ""


# --- UNLOAD's format ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1|anna|12/24/2020|\n2|tom||\n", [["1", "anna", "12/24/2020"], ["2", "tom", None]]),
        ("a\\|b|c\\\\|d\\\ne|\n", [["a|b", "c\\", "d\ne"]]),
        ("\\ | |x\\ |\\  |\n", [["", " ", "x ", "  "]]),
        ("|\n||\n", [[None], [None, None]]),
        ("1|2\n3|4", [["1", "2"], ["3", "4"]]),
        ("1|2\\|\n3|4\\||", [["1", "2|"], ["3", "4|"]]),
        ("1|2|\r\n3|4\r\n\r\n", [["1", "2"], ["3", "4"]]),
        ("1\r|2\\\r\n", [["1\r", "2\r"]]),
        ("\n\n1|\n\n", [["1"]]),
        ("a\\\n", [["a\n"]]),
        ("\\\n\\\n|x|\n", [["\n\n", "x"]]),
        ("\\a\\b|\n", [["ab"]]),
        ("a\\\\\nb|\n", [["a\\"], ["b"]]),
        ("", []),
    ],
)
def test_a_file_of_unload_is_read(text: str, expected: list[TextRecord]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (["1", "anna", None, ""], "1|anna||\\ |\n"),
        (["a|b", "c\\d", "e\nf", "g\rh", " "], "a\\|b|c\\\\d|e\\\nf|g\rh| |\n"),
        ([None], "|\n"),
    ],
)
def test_a_record_is_written_as_unload_writes_it(fields: TextRecord, line: str) -> None:
    assert UNLOAD.join(fields) == line


def test_another_delimiter_is_the_only_one() -> None:
    form = UnloadFormat("\t")
    assert form.join(["a|b", "c\td"]) == "a|b\tc\\\td\t\n"
    assert read("a|b\tc\\\td\t\n", form) == [["a|b", "c\td"]]
    assert read("a^b]c^\n", UnloadFormat("^")) == [["a", "b]c"]]
    assert read("a]b^c]\n", UnloadFormat("]")) == [["a", "b^c"]]


@pytest.mark.parametrize("delimiter", ["\\", "\n", "\r", " ", "0", "9", "a", "F"])
def test_a_delimiter_with_another_meaning_is_refused(delimiter: str) -> None:
    with pytest.raises(InterfaceError, match=r"delimiter: expected a character not reserved"):
        UnloadFormat(delimiter)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ""}, "delimiter: expected one character, got ''"),
        ({"delimiter": "||"}, "delimiter: expected one character"),
        ({"encoding": "klingon"}, "encoding: unknown text encoding 'klingon'"),
        ({"encoding": "hex"}, "encoding: unknown text encoding 'hex'"),
        ({"max_record": 0}, "max_record: expected 1 or more, got 0"),
    ],
)
@pytest.mark.parametrize("form", [UnloadFormat, CsvFormat])
def test_options_that_mean_nothing_are_refused(form: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        form(**options)


@pytest.mark.parametrize("form", [UNLOAD, CSV])
def test_a_record_without_fields_is_refused(form: TextFormat) -> None:
    with pytest.raises(InterfaceError, match="expected at least one"):
        form.join([])


def test_text_that_ends_within_an_escape_is_cut_short() -> None:
    assert outcome(["1|\n2|a\\"], UNLOAD) == (
        [["1"]],
        "record 2, line 2 is cut short: the text ends within a field",
    )


# --- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,name\n1,anna\n2,\n", [["id", "name"], ["1", "anna"], ["2", None]]),
        ('"a,b","say ""x""","c\nd"\r\n', [["a,b", 'say "x"', "c\nd"]]),
        ('"",,""\n', [["", None, ""]]),
        ('"a,"",b",,""', [['a,",b', None, ""]]),
        ('a"b,c""d,\n', [['a"b', 'c""d', None]]),
        ('\n"\n\n"\n\n', [["\n\n"]]),
        ('"a\r\nb"\r\n', [["a\r\nb"]]),
        ("\r\n", []),
        ("\ufeff1,2", [["\ufeff1", "2"]]),
        ("a, b ,c", [["a", " b ", "c"]]),
    ],
)
def test_csv_is_read(text: str, expected: list[TextRecord]) -> None:
    assert read(text, CSV) == expected


@pytest.mark.parametrize(
    ("form", "fields", "line"),
    [
        (CSV, ["1", None, "", "a b"], '1,,"",a b\n'),
        (CSV, ["a,b", 'a"b', "a\nb", "a\rb"], '"a,b","a""b","a\nb","a\rb"\n'),
        (CSV, [""], '""\n'),
        (CsvFormat(null="\\N"), ["", None, "\\N"], ',\\N,"\\N"\n'),
        (CsvFormat(null="\\N"), [""], '""\n'),
        (CsvFormat(";"), ["a,b", "c;d"], 'a,b;"c;d"\n'),
        (CsvFormat(quoted_null=True), [None], '""\n'),
    ],
)
def test_csv_is_written_with_the_quotes_it_needs(form: CsvFormat, fields: TextRecord, line: str) -> None:
    assert form.join(fields) == line
    assert read(line, form) == [fields]


def test_null_in_quotes_is_null_when_one_says_so() -> None:
    assert read('"1","","NULL"\n', CsvFormat(quoted_null=True)) == [["1", None, "NULL"]]
    assert read('"1","","NULL"\n', CsvFormat(null="NULL", quoted_null=True)) == [["1", "", None]]
    assert read('"1","","NULL",NULL\n', CsvFormat(null="NULL")) == [["1", "", "NULL", None]]


def test_text_that_could_not_be_read_back_is_not_written() -> None:
    with pytest.raises(DataError, match="a single NULL would be an empty line"):
        CSV.join([None])
    with pytest.raises(DataError, match="a field equals the text of NULL"):
        CsvFormat(quoted_null=True).join(["a", ""])


@pytest.mark.parametrize("null", ['"', "a,b", "a\nb", "\r"])
def test_a_null_that_needs_quotes_is_refused(null: str) -> None:
    with pytest.raises(InterfaceError, match="null: expected a text without"):
        CsvFormat(null=null)


@pytest.mark.parametrize("delimiter", ['"', "\n", "\r"])
def test_csv_refuses_a_delimiter_with_another_meaning(delimiter: str) -> None:
    with pytest.raises(InterfaceError, match=r"delimiter: expected a character not reserved"):
        CsvFormat(delimiter)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('1\n2\n"a"b,c\n', "record 3, line 3: not valid CSV"),
        ('1\n"a,b\nc\n', "record 2, line 2 is cut short: the text ends within a field"),
        ("1\na\rb\n", "record 2, line 2: not valid CSV"),
        ("1\n" + "x" * 131_073, "record 2, line 2: not valid CSV: field larger than field limit"),
    ],
)
def test_invalid_csv_is_rejected_with_its_record_number(text: str, message: str) -> None:
    found, error = outcome([text], CSV)
    assert found[0] == ["1"]
    assert error.startswith(message)


def test_the_names_of_a_header() -> None:
    assert CSV.names(["id", " name "]) == ("id", "name")
    with pytest.raises(DataError, match="no name for column 2"):
        CSV.names(["id", None])
    with pytest.raises(DataError, match="has 'id' twice"):
        CSV.names(["id", "name", "id "])


# --- sources --------------------------------------------------------------------------------------------------------


def test_records_come_from_a_path_an_open_file_and_chunks(tmp_path: Path) -> None:
    path = tmp_path / "items.unl"
    lines = [UNLOAD.join([str(number), "grün\n|", None]) for number in range(8_000)]
    path.write_bytes("".join(lines).encode())
    expected: list[TextRecord] = [[str(number), "grün\n|", None] for number in range(8_000)]
    assert list(records(path, UNLOAD)) == expected
    with open(path, "rb") as binary:
        assert list(records(binary, UNLOAD)) == expected
    with open(path, encoding="utf-8", newline="") as text:
        assert list(records(text, UNLOAD)) == expected
    assert list(records(lines, UNLOAD)) == expected
    assert list(records(io.StringIO("".join(lines)), UNLOAD)) == expected


def test_a_file_is_read_only_as_far_as_records_are_requested(tmp_path: Path) -> None:
    path = tmp_path / "items.unl"
    path.write_text("1|\n" * 100_000)
    with open(path, "rb") as file:
        assert next(records(file, UNLOAD)) == ["1"]
        assert 0 < file.tell() <= 64 * 1024


def test_a_path_is_closed_when_reading_stops_early(tmp_path: Path) -> None:
    path = tmp_path / "items.unl"
    path.write_text("1|\n2|\n")
    found = records(path, UNLOAD)
    assert next(found) == ["1"]
    found.close()  # type: ignore[attr-defined] # a generator; an open file would be a ResourceWarning, an error here


@pytest.mark.parametrize("form", [UNLOAD, CSV])
async def test_chunks_may_be_awaited(form: TextFormat) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        text = form.join(["grün", None, "a\nb"]) * 2
        for byte in text.encode()[:-1]:  # the last record has no newline
            yield bytes([byte])

    assert [record async for record in async_records(chunks(), form)] == [["grün", None, "a\nb"]] * 2


@pytest.mark.parametrize("source", [b"1|2|", bytearray(b"1|"), memoryview(b"1|")])
def test_bare_bytes_are_refused_since_they_could_be_a_path(source: Any) -> None:
    with pytest.raises(InterfaceError, match="may be a path or text"):
        list(records(source, UNLOAD))


@pytest.mark.parametrize("kind", [str, Path])
def test_a_str_is_a_path(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "items.unl"
    path.write_text("1|a|\n2|b|\n")
    assert [*records(kind(path), UNLOAD)] == [["1", "a"], ["2", "b"]]
    with pytest.raises(FileNotFoundError):
        list(records(kind(tmp_path / "1|2|"), UNLOAD))


@pytest.mark.parametrize("source", ["", "1|2|\n", "1\0"])
def test_a_text_that_is_not_a_path_is_refused_and_not_shown(source: str) -> None:
    with pytest.raises(
        InterfaceError, match=r"^rows: expected a path, got text; give text as a list of chunks$"
    ):
        list(records(source, UNLOAD))


@pytest.mark.parametrize(
    ("path", "name"),
    [("a.csv", "csv"), (Path("b.c/A.CSV"), "csv"), ("a.unl", "unload"), ("a.csv.txt", None), ("csv", None)],
)
def test_the_name_of_a_file_tells_its_format(path: Any, name: str | None) -> None:
    assert format_by_name(path) == name


@pytest.mark.parametrize("source", [io.StringIO(), [b""], 5, None])
def test_what_is_not_a_path_tells_no_format(source: Any) -> None:
    assert format_by_name(source) is None


@pytest.mark.parametrize("source", [7, None])
def test_anything_but_a_source_is_rejected(source: Any) -> None:
    with pytest.raises(InterfaceError, match="rows: expected a path, file or iterable of chunks, got"):
        list(records(source, UNLOAD))


def test_chunks_that_are_neither_text_nor_bytes_are_refused() -> None:
    chunks: Any = ["1|\n", ["2", "3"]]
    with pytest.raises(InterfaceError, match="chunks: expected str or bytes, got list"):
        list(records(chunks, UNLOAD))


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "shift_jis", "utf-16"])
def test_bytes_that_are_no_text_are_refused_by_their_record(encoding: str, size: int) -> None:
    bad = "1|表|\n2|\n".encode(encoding) + (b"\x00\xdc\x0a\x00" if encoding == "utf-16" else b"\xff\n3|\n")
    found, error = outcome(cuts(bad, size), UnloadFormat(encoding=encoding))
    assert found == [["1", "表"], ["2"]]
    assert error.startswith("record 3, line 3: byte 0x") and error.endswith(
        f"cannot be decoded as {encoding}"
    )


def test_bytes_that_end_within_a_character_are_refused() -> None:
    assert outcome([b"1|\n2|\xc3"], UNLOAD) == (
        [["1"]],
        "record 2, line 2: byte 0xc3 cannot be decoded as utf-8",
    )


def test_a_second_byte_is_never_an_escape_or_a_delimiter() -> None:
    text = "表|ー|\n"  # 95 5C and 81 5B in Shift-JIS
    assert read(text.encode("shift_jis"), UnloadFormat(encoding="shift_jis")) == [["表", "ー"]]


def test_a_byte_order_mark_is_not_part_of_the_first_name() -> None:
    assert read("\ufeffid,name\n".encode(), CSV) == [["id", "name"]]


@pytest.mark.parametrize(
    ("form", "endless"),
    [
        (UnloadFormat(max_record=10), "x" * 20),
        (UnloadFormat(max_record=10), "x\\\n" * 6),
        (UnloadFormat(max_record=10), "\\\n" * 10),
        (CsvFormat(max_record=10), "x" * 20),
        (CsvFormat(max_record=10), '"' + "x\n" * 8),
        (CsvFormat(max_record=10), '"' + "\n" * 20),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_record_without_an_end_is_refused_before_it_fills_the_memory(
    form: TextFormat, endless: str, size: int
) -> None:
    reader = RecordReader(form)
    for chunk in cuts("123456789\n" * 3, size):
        list(reader.feed(chunk))
    with pytest.raises(DataError, match=r"^record 4, line 4 is longer than max_record, 10 characters$"):
        for chunk in cuts(endless, size):
            list(reader.feed(chunk))


# --- laws -----------------------------------------------------------------------------------------------------------


def cuts(data: Any, size: int) -> list[Any]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def random_cuts(data: Any, seed: int) -> Iterator[Any]:
    chance = random.Random(seed)
    while data:
        size = chance.randrange(0, 5)
        yield data[:size]
        data = data[size:]


FIELDS = st.none() | st.text() | st.text(st.sampled_from('|\\\n\r ",;\tabN\0é\U0001f600'), max_size=8)
RECORDS = st.lists(st.lists(FIELDS, min_size=1, max_size=5), max_size=5)
UNLOAD_FORMATS = st.sampled_from(
    [UNLOAD, UnloadFormat("\t"), UnloadFormat(";"), UnloadFormat("^"), UnloadFormat("é")]
)
CSV_FORMATS = st.sampled_from(
    [CSV, CsvFormat(";"), CsvFormat("\t"), CsvFormat(null="N"), CsvFormat(null="\\N")]
)
TEXTS = st.lists(
    st.sampled_from(["|", "\\", "\n", "\r", '"', '""', ",", " ", "a", "bc", "é", "\0"]), max_size=30
)


# Law: what is written comes back as it was.
@given(UNLOAD_FORMATS, RECORDS)
@example(UNLOAD, [["\\", " ", "", None, "\r"], [None], ["\n"]])
def test_records_of_unload_come_back(form: UnloadFormat, written: list[TextRecord]) -> None:
    assert read("".join(map(form.join, written)), form) == written


@given(CSV_FORMATS, RECORDS)
def test_records_of_csv_come_back(form: CsvFormat, written: list[TextRecord]) -> None:
    written = [record for record in written if form.null or record != [None]]
    assert read("".join(map(form.join, written)), form) == written


# Law: any cut of the same text gives the same records and the same error.
@given(UNLOAD_FORMATS | CSV_FORMATS, TEXTS.map("".join), st.integers())
@example(UNLOAD, "a\\\\\\\nb|\\", 1)
@example(CSV, '"a""\n"",\r\n,""', 1)
def test_any_cut_of_text_gives_the_same_records(form: TextFormat, text: str, seed: int) -> None:
    whole = outcome([text], form)
    assert outcome(random_cuts(text, seed), form) == whole
    assert outcome(list(text), form) == whole


@given(UNLOAD_FORMATS | CSV_FORMATS, st.binary() | TEXTS.map("".join).map(str.encode), st.integers())
def test_any_cut_of_bytes_gives_the_same_records(form: TextFormat, data: bytes, seed: int) -> None:
    whole = outcome([data], form)
    assert outcome(random_cuts(data, seed), form) == whole
    assert outcome(cuts(data, 1), form) == whole


# Law: csv's own reader and writer mean the same by it.
@given(RECORDS, st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.sampled_from(["\n", "\r\n"]))
def test_what_python_writes_as_csv_is_read(written: list[TextRecord], quoting: Any, end: str) -> None:
    if end == "\n":  # then its writer quotes no CR, which its own reader cannot read
        written = [[field and field.replace("\r", "") for field in record] for record in written]
    file = io.StringIO(newline="")
    csv.writer(file, quoting=quoting, lineterminator=end).writerows(written)
    expected = [[field or None for field in record] for record in written]
    assert read(file.getvalue(), CsvFormat(quoted_null=True)) == expected


@given(RECORDS)
def test_python_reads_what_is_written_as_csv(written: list[TextRecord]) -> None:
    written = [record for record in written if record != [None]]
    text = "".join(map(CSV.join, written))
    expected = [[field or "" for field in record] for record in written]
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == expected


# Law: linear. The suite's own time limit shows it.
@pytest.mark.sampled
@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize(
    "text",
    ["\\" * 300_001, "\\\n" * 150_000, '"' * 300_001, '"\n' * 150_000, "|" * 300_000, '"",' * 100_000, 'a"' * 150_000],
    ids=lambda text: repr(text[:4]),
)  # fmt: skip
@pytest.mark.parametrize("form", [UNLOAD, CSV])
def test_hostile_texts_are_read_in_linear_time(
    form: TextFormat, text: str, size: int, is_exhaustive: bool
) -> None:
    if size == 1 and not is_exhaustive:
        text = text[:50_001]
    found, error = outcome(cuts(text, size), form)
    assert found or error


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_place_is_a_record_and_the_line_that_it_begins_in(size: int) -> None:
    text = 'a,b\n1,x\n\n2,"y\nz\n"\n3,"w\n"\n\n\n4,v\n5,u\n'
    reader = RecordReader(CsvFormat(header=True))
    read = [
        record for start in range(0, len(text), size) for record in reader.feed(text[start : start + size])
    ]
    assert [*map(reader.place, range(1, len(read) + 1))] == [
        "record 1, line 1",
        "record 2, line 2",
        "record 3, line 4",
        "record 4, line 7",
        "record 5, line 11",
        "record 6, line 12",
    ]
    assert reader.place(7) == "record 7, line 13"


def test_a_place_that_is_forgotten_is_the_record_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aioifx.client.bulk.text_formats._SHIFTS", 2)
    reader = RecordReader(CsvFormat())
    assert len([*reader.feed("a\n\nb\n\nc\n\nd\n\ne\n")]) == 5
    assert reader.place(2) == "record 2"
    assert reader.place(3) == "record 3, line 5"
    assert reader.place(5) == "record 5, line 9"


def test_a_place_among_many_lines_is_found_by_search() -> None:
    reader = RecordReader(CsvFormat())
    assert len([*reader.feed("a\n\n" * 20_000)]) == 20_000
    assert lines_run(lambda: reader.place(19_990)) < 50


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+cmd", "'+cmd"), ("-2+3", "'-2+3"), ("\tx", "'\tx"),
        ("\uff1dx", "'\uff1dx"), ("\rx", '"\'\rx"'), ('="a"', '"\'=""a"""'), ("-", "'-"),
        ("-1", "-1"), ("+1.50", "+1.50"), ("-1.5E+20", "-1.5E+20"), ("a=b", "a=b"), ("", '""'), (None, ""),
        ("-1\n", '"\'-1\n"'), ("-5 03:00", "'-5 03:00"),
    ],
)  # fmt: skip
def test_what_a_spreadsheet_would_execute_is_escaped(field: str | None, written: str) -> None:
    assert CsvFormat(escape_formulas=True).join([field, "x"]) == f"{written},x\n"


def test_formulas_are_left_alone_by_default() -> None:
    assert CsvFormat().join(["=1+1", "@x"]) == "=1+1,@x\n"


LATIN = code_set_of("en_US.8859-1")


def test_unloads_format_is_in_the_clients_code_set_and_has_pipes() -> None:
    assert format_of("unload", LATIN) == UnloadFormat("|", "latin-1")
    assert format_of(UnloadFormat(";"), LATIN) == UnloadFormat(";", "latin-1")
    assert format_of(UnloadFormat(";", "utf-8"), LATIN) == UnloadFormat(";", "utf-8")


def test_the_name_csv_is_the_format_with_its_defaults() -> None:
    assert format_of("csv", LATIN) == CsvFormat()


def test_a_format_of_the_callers_own_is_unchanged() -> None:
    own = CsvFormat(null="NULL", header=True)
    assert format_of(own, LATIN) is own


def test_an_unknown_name_is_rejected() -> None:
    with pytest.raises(InterfaceError, match='expected "unload" or "csv"'):
        format_of("xml", LATIN)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (UnloadFormat, {"delimiter": "a"}, "delimiter"),
        (CsvFormat, {"delimiter": '"'}, "delimiter"),
        (CsvFormat, {"delimiter": "||"}, "delimiter"),
        (CsvFormat, {"encoding": "klingon"}, "encoding"),
        (CsvFormat, {"header": "no"}, "header"),
    ],
)
def test_an_impossible_format_is_rejected(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        make(**options)
