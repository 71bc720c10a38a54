"""Records and row factories."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import InterfaceError
from aioifx.rows import (
    R,
    Record,
    RowFactory,
    class_row,
    dict_row,
    namedtuple_row,
    record_maker,
    record_row,
    row_type_of,
    tuple_row,
    unique_names,
)
from aioifx.sqltypes import Column, Row, SqlType, TypeCode


def columns(*names: str) -> list[Column]:
    return [Column(name, SqlType(TypeCode.INTEGER)) for name in names]


def record(**fields: Any) -> Record:
    return record_maker(columns(*fields))(tuple(fields.values()))


PEN = record(id=1, name="pen", price=None)


# -- Record -----------------------------------------------------------------------------------------------------------


def test_threads_that_make_a_record_at_once_make_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = threading.Barrier(2)

    def places(names: Sequence[str]) -> dict[str, int]:
        barrier.wait()
        return {name: place for place, name in enumerate(names)}

    monkeypatch.setattr("aioifx.rows._first_places", places)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(record_maker, [columns("made", "at", "once")] * 2)
    assert first is second is record_maker(columns("made", "at", "once"))


def test_a_second_column_of_a_name_is_numbered() -> None:
    assert unique_names(columns("n", "n", "n_2", "n", "m")) == ["n", "n_3", "n_2", "n_4", "m"]


def test_a_record_is_indexed_sliced_and_iterated_as_a_tuple() -> None:
    assert isinstance(PEN, tuple)
    assert (PEN[0], PEN[-2], PEN[1:]) == (1, "pen", ("pen", None))
    assert list(PEN) == [1, "pen", None]
    with pytest.raises(IndexError):
        PEN[3]
    assert len(PEN) == 3
    assert "pen" in PEN and "name" not in PEN
    number, name, _ = PEN
    assert (number, name) == (1, "pen")


def test_a_record_is_equal_to_and_hashed_as_its_tuple() -> None:
    assert PEN == (1, "pen", None)
    assert (1, "pen", None) == PEN
    assert PEN == record(a=1, b="pen", c=None)
    assert PEN != (1, "pen", "None")
    assert (1, "pen", None) in {PEN} and PEN in {(1, "pen", None)}
    assert record(a=1, b=2) < record(a=1, b=3)


def test_a_value_is_found_by_its_columns_name() -> None:
    assert PEN["name"] == "pen"
    assert PEN["price"] is None
    with pytest.raises(KeyError, match="no column 'nmae' among id, name, price"):
        PEN["nmae"]


def test_get_distinguishes_null_from_a_missing_column() -> None:
    assert PEN.get("name", "?") == "pen"
    assert PEN.get("price", "?") is None
    assert PEN.get("colour", "?") == "?"
    assert PEN.get("colour") is None


def test_keys_values_and_items_are_in_column_order() -> None:
    assert PEN.keys() == ("id", "name", "price")
    assert PEN.values() == (1, "pen", None) and type(PEN.values()) is tuple
    assert PEN.items() == (("id", 1), ("name", "pen"), ("price", None))


def test_a_record_becomes_a_dict_in_every_usual_way() -> None:
    expected = {"id": 1, "name": "pen", "price": None}
    assert PEN.asdict() == expected
    assert dict(PEN) == expected
    unpacked: dict[str, Any] = {**PEN}
    assert unpacked == expected


def test_of_two_columns_with_one_name_the_first_is_meant() -> None:
    both = record_maker(columns("id", "n", "id"))((1, 2, 3))
    assert both["id"] == 1
    assert both.get("id") == 1
    with pytest.raises(
        InterfaceError, match=r"^asdict: expected distinct column names, got 'id' twice; rename one with AS$"
    ):
        both.asdict()
    assert both.items() == (("id", 1), ("n", 2), ("id", 3))
    assert both == (1, 2, 3)


def test_columns_are_no_attributes() -> None:
    row = record(keys=1, name=2)
    assert row.keys() == ("keys", "name")
    assert not hasattr(row, "name")
    with pytest.raises(AttributeError):
        row.name = 3  # type: ignore[attr-defined] # the error is what is tested
    with pytest.raises(TypeError):
        row[0] = 3  # type: ignore[index] # likewise


def test_a_record_shows_names_and_values() -> None:
    assert repr(PEN) == "<Record id=1 name='pen' price=None>"
    assert repr(record_maker([])(())) == "<Record>"


def test_a_record_survives_pickle_and_copy() -> None:
    nested = record(id=1, tags=["a"])
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(nested, protocol))
        assert again == nested and again["tags"] == ["a"] and type(again) is type(nested)
    assert copy.copy(nested)["tags"] is nested["tags"]
    deep = copy.deepcopy(nested)
    assert deep == nested and deep["tags"] is not nested["tags"]


def test_a_record_is_written_as_a_json_list() -> None:
    assert json.dumps(PEN) == '[1, "pen", null]'


def test_a_record_is_no_larger_than_its_tuple() -> None:
    assert PEN.__sizeof__() == (1, "pen", None).__sizeof__()
    assert not hasattr(PEN, "__dict__")


def test_the_shape_is_made_once_for_the_same_names() -> None:
    assert record_maker(columns("a", "b")) is record_maker(columns("a", "b"))
    assert record_maker(columns("a", "b")) is not record_maker(columns("b", "a"))
    assert record_row(columns("a", "b")) is record_maker(columns("a", "b"))


# Law: a record is its tuple, whatever the columns are called.
@given(st.lists(st.tuples(st.text(), st.integers())))
def test_a_record_behaves_like_its_tuple(cells: list[tuple[str, int]]) -> None:
    names, row = [name for name, _ in cells], tuple(value for _, value in cells)
    made = record_maker(columns(*names))(row)
    assert made == row and hash(made) == hash(row)
    assert list(made.items()) == cells
    assert all(made[name] == row[names.index(name)] for name in names)
    assert pickle.loads(pickle.dumps(made)).keys() == tuple(names)


# -- factories --------------------------------------------------------------------------------------------------------


def test_tuple_row_returns_the_same_tuple() -> None:
    row = (1, "pen")
    assert tuple_row(columns("id", "name"))(row) is row


def test_dict_row_makes_a_new_dict_of_each_row() -> None:
    make = dict_row(columns("id", "name"))
    assert make((1, "pen")) == {"id": 1, "name": "pen"}
    assert make((1, "pen")) is not make((1, "pen"))


def test_dict_row_makes_dicts_of_very_many_columns() -> None:
    names = [f"c{number}" for number in range(32_766)]
    row = tuple(range(32_766))
    assert dict_row(columns(*names))(row) == dict(zip(names, row, strict=True))


def test_dict_row_refuses_two_columns_with_one_name() -> None:
    expected = "row_factory: expected distinct column names for dict_row, got '(expression)' twice; rename one with AS"
    with pytest.raises(InterfaceError, match=f"^{re.escape(expected)}$"):
        dict_row(columns("id", "(expression)", "(expression)"))


def test_namedtuple_row_has_attributes() -> None:
    row = namedtuple_row(columns("id", "name"))((1, "pen"))
    assert (row.id, row.name) == (1, "pen")
    assert row == (1, "pen")
    assert repr(row) == "Row(id=1, name='pen')"


@pytest.mark.exhaustive
def test_namedtuple_row_numbers_the_most_columns_of_one_name() -> None:
    fields = namedtuple_row(columns(*["(constant)"] * 32_767))(tuple(range(32_767)))._fields
    assert (fields[:3], fields[-1]) == (("constant", "constant_2", "constant_3"), "constant_32767")


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (["(count(*))", "(max)"], ("count", "max")),
        (["id", "id", "id_2", "id"], ("id", "id_2", "id_2_2", "id_3")),
        (["class", "none", "None"], ("class_", "none", "None_")),
        (["2nd", "_hidden", "a b", "größe"], ("column_2nd", "hidden", "a_b", "größe")),
        (["", "()", "*"], ("column_1", "column_2", "column_3")),
        (["ﬁ", "fi"], ("fi", "fi_2")),
        (["\U00010e60", "a\U00010e60b"], ("column_1", "a_b")),
        ([], ()),
    ],
)
def test_namedtuple_row_changes_names_that_are_not_identifiers(
    names: list[str], fields: tuple[str, ...]
) -> None:
    assert namedtuple_row(columns(*names))(tuple(names))._fields == fields


# Law: any names give as many distinct fields.
@given(st.lists(st.text(alphabet="ab_2 (*)ª", max_size=4) | st.text(max_size=3), max_size=6))
def test_namedtuple_row_takes_any_names(names: list[str]) -> None:
    row = namedtuple_row(columns(*names))(tuple(range(len(names))))
    assert [getattr(row, name) for name in row._fields] == list(range(len(names)))


@dataclass
class Item:
    id: int
    name: str
    tags: list[str] = field(default_factory=list)


class Pair(NamedTuple):
    id: int
    name: str


def test_class_row_makes_dataclasses_in_any_column_order() -> None:
    assert class_row(Item)(columns("name", "id"))(("pen", 1)) == Item(1, "pen")
    assert class_row(Item)(columns("id", "name", "tags"))((1, "pen", ["x"])) == Item(1, "pen", ["x"])


def test_class_row_does_not_evaluate_annotations() -> None:
    """From Python 3.14 on they need not be strings to have names that only type checkers import."""
    source = """if True:
        class Model:
            def __init__(self, id: OnlyForTypes, name: OnlyForTypes | None = None) -> None:
                self.values = id, name
    """
    names: dict[str, Any] = {}
    flags = 0 if sys.version_info >= (3, 14) else annotations.compiler_flag
    exec(compile(source, "model", "exec", flags, dont_inherit=True), names)
    assert class_row(names["Model"])(columns("name", "id"))(("pen", 1)).values == (1, "pen")
    with pytest.raises(InterfaceError, match="Model does not fit the columns name: missing"):
        class_row(names["Model"])(columns("name"))


def test_class_row_takes_whatever_takes_keywords() -> None:
    assert class_row(Pair)(columns("id", "name"))((1, "pen")) == Pair(1, "pen")
    assert class_row(dict)(columns("id"))((1,)) == {"id": 1}
    assert class_row(lambda **fields: sorted(fields))(columns("b", "a"))((1, 2)) == ["a", "b"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["id"], "missing a required argument: 'name'"),
        (["id", "name", "colour"], "got an unexpected keyword argument 'colour'"),
        (["id", "name", "(count(*))"], r"unexpected keyword argument '\(count\(\*\)\)'"),
    ],
)
def test_class_row_refuses_columns_that_do_not_fit_before_the_first_row(
    names: list[str], reason: str
) -> None:
    with pytest.raises(InterfaceError, match=f"row_factory: Item does not fit the columns .*{reason}"):
        class_row(Item)(columns(*names))


def test_class_row_refuses_two_columns_with_one_name() -> None:
    with pytest.raises(InterfaceError, match=r"expected distinct column names for .*, got 'id' twice"):
        class_row(Item)(columns("id", "name", "id"))


def test_class_row_lets_the_models_own_errors_through() -> None:
    def refuse(id: int) -> None:
        raise ValueError("id is taken")

    with pytest.raises(ValueError, match="id is taken"):
        class_row(refuse)(columns("id"))((1,))


def test_class_row_makes_pydantic_models() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", id=(int, ...), name=(str, "nameless"))
    made = class_row(model)(columns("id"))(("7",))
    assert made.id == 7 and made.name == "nameless"
    with pytest.raises(InterfaceError, match="Model does not fit the columns name"):
        class_row(model)(columns("name"))
    with pytest.raises(pydantic.ValidationError):
        class_row(model)(columns("id"))(("seven",))


def test_a_type_checker_infers_what_a_factory_makes() -> None:
    # mypy checks these lines; at run time there is little left to say.
    def first(factory: RowFactory[R], row: Row) -> R:
        return factory(columns("id", "name"))(row)

    item: Item = first(class_row(Item), (1, "pen"))
    mapping: dict[str, Any] = first(dict_row, (1, "pen"))
    plain: tuple[Any, ...] = first(tuple_row, (1, "pen"))
    made: Record = first(record_row, (1, "pen"))
    assert [item.name, mapping["name"], plain[1], made["name"]] == ["pen"] * 4


def test_a_factory_of_ones_own_is_two_functions() -> None:
    def upper(found: Sequence[Column]) -> Callable[[Row], str]:
        return lambda row: " ".join(
            f"{column.name.upper()}={value}" for column, value in zip(found, row, strict=True)
        )

    assert upper(columns("id"))((1,)) == "ID=1"


# -- compiled shapes --------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text(max_size=6), st.integers()), max_size=8, unique_by=lambda cell: cell[0]))
def test_whatever_columns_are_called_a_dict_row_has_their_values(cells: list[tuple[str, int]]) -> None:
    names, row = [name for name, _ in cells], tuple(value for _, value in cells)
    made = dict_row(columns(*names))(row)
    assert list(made.items()) == cells


@given(
    st.dictionaries(
        st.text(max_size=6) | st.sampled_from(["class", "ﬁ", "__debug__", "a b", "row"]), st.integers()
    )
)
def test_whatever_columns_are_called_a_class_row_passes_them_by_their_names(cells: dict[str, int]) -> None:
    def model(**fields: int) -> dict[str, int]:
        return fields

    assert class_row(model)(columns(*cells))(tuple(cells.values())) == cells


@pytest.mark.parametrize("factory", [dict_row, namedtuple_row, class_row(dict)])
@pytest.mark.parametrize("row", [(), (1,), (1, 2, 3)])
def test_a_row_of_another_width_is_an_error(factory: RowFactory[Any], row: Row) -> None:
    with pytest.raises((ValueError, TypeError)):
        factory(columns("a", "b"))(row)


def test_only_what_makes_plain_tuples_or_records_is_left_to_the_decoder() -> None:
    class Mine(Record):
        pass

    here = columns("a", "b")
    assert row_type_of(tuple_row(here)) is tuple
    assert row_type_of(record_row(here)) is record_maker(here)
    for make in (dict_row(here), namedtuple_row(here), class_row(dict)(here), Mine, tuple, lambda row: row):
        assert row_type_of(make) is None


def test_control_characters_in_the_names_of_columns_are_escaped() -> None:
    names = columns("a\x1b[2J\nb")
    row = record_row(names)((1,))
    assert repr(row) == r"<Record a\x1b[2J\nb=1>"
    with pytest.raises(InterfaceError, match="does not fit the columns") as caught:
        class_row(Single)(names)
    assert str(caught.value).isprintable()
    with pytest.raises(KeyError) as missing:
        row["c"]
    assert missing.value.args[0].isprintable()


class Single:
    def __init__(self, one: object) -> None:
        self.one = one
