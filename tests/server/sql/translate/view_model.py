"""A model of tables that change below views. A column has a number that no change of its name affects.

Views are trees over these numbers, so their rows do not depend on names. A view that reads a dropped column is an
error, until a column gets the name that the dropped one had (documented: "How Dropping a Column Affects Views").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final, NamedTuple, TypeAlias

Number: TypeAlias = "int | None"

NAMES: Final = ("a", "b", "c", "x", "t", "q")
TYPES: Final = ("INT", "BIGINT", "DECIMAL(8,2)")
_numbers: Final = count()


@dataclass(eq=False)
class Table:
    """A table with rows by the numbers of its columns."""

    name: str
    columns: dict[int, str] = field(default_factory=dict[int, str])
    defaults: dict[int, Number] = field(default_factory=dict[int, Number])
    rows: list[dict[int, Number]] = field(default_factory=list[dict[int, Number]])
    dropped: dict[int, str] = field(default_factory=dict[int, str])
    """The last names of dropped columns."""
    successors: dict[int, int] = field(default_factory=dict[int, int])
    """The columns that got the names of dropped ones."""

    def add(self, name: str, default: Number) -> None:
        number = next(_numbers)
        self.defaults[number] = default
        for row in self.rows:
            row[number] = default
        self.name_column(number, name)

    def name_column(self, number: int, name: str) -> None:
        self.columns[number] = name
        for old in [old for old, gone in self.dropped.items() if gone == name]:
            del self.dropped[old]
            self.successors[old] = number

    def drop(self, number: int) -> None:
        self.dropped[number] = self.columns.pop(number)

    def current(self, number: int) -> int:
        while number in self.successors:
            number = self.successors[number]
        return number

    def keys(self) -> list[int]:
        return list(self.columns)

    def name_of(self, key: int) -> str:
        return self.columns[key]

    def lacks(self, key: int) -> bool:
        return self.current(key) not in self.columns

    def read(self) -> list[Mapping[int, Number]]:
        return list(self.rows)


@dataclass(eq=False)
class View:
    """A view; the keys of its columns are their places."""

    name: str
    names: tuple[str, ...]
    query: Query
    has_check_option: bool = False

    def current(self, key: int) -> int:
        return key

    def keys(self) -> list[int]:
        return list(range(len(self.names)))

    def name_of(self, key: int) -> str:
        return self.names[key]

    def lacks(self, key: int) -> bool:
        return self.query.is_broken()

    def read(self) -> list[Mapping[int, Number]]:
        return [dict(enumerate(row)) for row in self.query.rows({})]


@dataclass(eq=False)
class Source:
    """An entry of FROM."""

    of: Table | View
    text: str
    label: str


class Ref(NamedTuple):
    """A column of a source."""

    source: Source
    key: int

    @property
    def name(self) -> str:
        return self.source.of.name_of(self.key)

    def value(self, rows: Rows) -> Number:
        row = rows[self.source]
        return None if row is None else row[self.source.of.current(self.key)]

    def text(self, scopes: Sequence[Sequence[Source]], random: Random) -> str:
        """A name that means it: of those that do, any.

        Raises:
            LookupError: there is none.
        """
        forms = [self.name, f"{self.source.label}.{self.name}"]
        means = [self._meant(scopes, ""), self._meant(scopes, self.source.label)]
        fitting = [form for form, found in zip(forms, means, strict=True) if found == [self.source]]
        if not fitting:
            raise LookupError
        return random.choice(fitting)

    def _meant(self, scopes: Sequence[Sequence[Source]], label: str) -> list[Source]:
        for sources in scopes:
            named = [each for each in sources if label in ("", each.label)]
            if found := [e for e in named if self.name in (e.of.name_of(key) for key in e.of.keys())]:
                return found
        return []


Rows: TypeAlias = "Mapping[Source, Mapping[int, Number] | None]"


class Comparison(NamedTuple):
    """``left operator right``; a NULL makes it false."""

    left: Ref
    operator: str
    right: Ref | int

    def holds(self, rows: Rows) -> bool:
        left = self.left.value(rows)
        right = self.right.value(rows) if isinstance(self.right, Ref) else self.right
        if left is None or right is None:
            return False
        return {"=": left == right, "<": left < right, ">": left > right}[self.operator]

    def refs(self) -> Iterator[Ref]:
        yield self.left
        if isinstance(self.right, Ref):
            yield self.right

    def text(self, scopes: Sequence[Sequence[Source]], random: Random) -> str:
        right = self.right.text(scopes, random) if isinstance(self.right, Ref) else str(self.right)
        return f"{self.left.text(scopes, random)} {self.operator} {right}"


@dataclass(eq=False)
class Select:
    """Columns of one source, or of two that are joined, perhaps with a subquery after EXISTS."""

    sources: list[Source]
    items: list[Ref]
    join: str = ""
    on: Comparison | None = None
    where: Comparison | None = None
    exists: Select | None = None

    def is_broken(self) -> bool:
        conditions = [each for each in (self.on, self.where) if each is not None]
        refs = [*self.items, *(ref for each in conditions for ref in each.refs())]
        lacking = any(ref.source.of.lacks(ref.key) for ref in refs)
        inside = any(isinstance(each.of, View) and each.of.query.is_broken() for each in self.sources)
        return lacking or inside or (self.exists is not None and self.exists.is_broken())

    def matches(self, outer: Rows) -> Iterator[Rows]:
        """The rows of the sources that the conditions keep."""
        for rows in self._joined(outer):
            if self.where is not None and not self.where.holds(rows):
                continue
            if self.exists is None or any(True for _ in self.exists.matches(rows)):
                yield rows

    def _joined(self, outer: Rows) -> Iterator[Rows]:
        first, *rest = self.sources
        for row in first.of.read():
            rows: Rows = {**outer, first: row}
            if not rest:
                yield rows
                continue
            pairs: list[Rows] = [{**rows, rest[0]: each} for each in rest[0].of.read()]
            kept = [pair for pair in pairs if self.on is None or self.on.holds(pair)]
            yield from kept
            if not kept and self.join == "LEFT JOIN":
                yield {**rows, rest[0]: None}

    def rows(self, outer: Rows) -> list[tuple[Number, ...]]:
        return [tuple(item.value(rows) for item in self.items) for rows in self.matches(outer)]

    def text(self, random: Random, outer: Sequence[Sequence[Source]] = ()) -> str:
        scopes = [self.sources, *outer]
        froms = [
            each.text if each.text == each.label else f"{each.text} AS {each.label}" for each in self.sources
        ]
        text = f" {self.join} ".join(froms)
        if self.on is not None:
            text += f" ON {self.on.text(scopes, random)}"
        conditions = [self.where.text(scopes, random)] if self.where is not None else []
        if self.exists is not None:
            conditions.append(f"EXISTS ({self.exists.text(random, scopes)})")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        items = ", ".join(item.text(scopes, random) for item in self.items)
        everything = [Ref(each, key) for each in self.sources for key in each.of.keys()]
        if (
            not outer
            and self.items == everything
            and len({each.label for each in self.sources}) == len(self.sources)
        ):
            items = random.choice((items, "*"))
        return f"SELECT {items} FROM {text}{where}"


@dataclass(eq=False)
class Union:
    """Rows of either part, each once."""

    left: Select
    right: Select

    def is_broken(self) -> bool:
        return self.left.is_broken() or self.right.is_broken()

    def rows(self, outer: Rows) -> list[tuple[Number, ...]]:
        return list(dict.fromkeys((*self.left.rows(outer), *self.right.rows(outer))))

    def text(self, random: Random) -> str:
        return f"{self.left.text(random)} UNION {self.right.text(random)}"


Query: TypeAlias = "Select | Union"


class Written(NamedTuple):
    """What an INSERT through a view does."""

    table: Table
    row: dict[int, Number]
    refused: bool


def is_writable(view: View) -> bool:
    """Whether rows with a value of each column of the views below can be written through it."""
    query = view.query
    if not isinstance(query, Select) or len(query.sources) > 1 or query.exists is not None:
        return False
    below = query.sources[0].of
    return isinstance(below, Table) or (is_writable(below) and len(query.items) == len(below.names))


def written(view: View, values: Mapping[int, Number]) -> Written:
    """The row of an INSERT through a view, by the view's places."""
    query = view.query
    assert isinstance(query, Select)
    (source,) = query.sources
    below = {ref.source.of.current(ref.key): values[place] for place, ref in enumerate(query.items)}
    if isinstance(source.of, Table):
        row = {number: below.get(number, source.of.defaults[number]) for number in source.of.columns}
        inner = Written(source.of, row, False)
        shown: Mapping[int, Number] = row
    else:
        inner, shown = written(source.of, below), below
    fails = query.where is not None and not query.where.holds({source: shown})
    refused = inner.refused or (view.has_check_option and (fails or _fails(source.of, shown)))
    return Written(inner.table, inner.row, refused)


def _fails(of: Table | View, row: Mapping[int, Number]) -> bool:
    """Whether a view below, with or without the option, does not contain the row."""
    if isinstance(of, Table):
        return False
    query = of.query
    assert isinstance(query, Select)
    (source,) = query.sources
    below = {ref.source.of.current(ref.key): row[place] for place, ref in enumerate(query.items)}
    if isinstance(source.of, Table):
        below = {number: below.get(number, source.of.defaults[number]) for number in source.of.columns}
    fails = query.where is not None and not query.where.holds({source: below})
    return fails or _fails(source.of, below)


class World:
    """Tables, a synonym of the first, and views; what changes them is drawn from *random*."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.tables = [Table("t"), Table("u")]
        self.views: list[View] = []
        for table, names in zip(self.tables, ("abc", "ax"), strict=True):
            for name in names:
                table.add(name, None)

    def creation(self) -> Iterator[str]:
        """The statements that create the tables and fill them."""
        for table in self.tables:
            columns = ", ".join(f"{name} INT" for name in table.columns.values())
            yield f"CREATE TABLE {table.name} ({columns})"
            for _ in range(3):
                row = {number: self._random.choice((None, 0, 1, 2)) for number in table.columns}
                table.rows.append(row)
                yield f"INSERT INTO {table.name} VALUES ({', '.join(map(_literal, row.values()))})"
        yield "CREATE SYNONYM s FOR t"

    # -- Views ---------------------------------------------------------------------------------------------------------

    def new_view(self) -> str:
        """CREATE VIEW of one more view; empty if the drawn one cannot be written."""
        random = self._random
        query: Query = self._select(random.choice(("", "", "", "JOIN", "LEFT JOIN")))
        if random.random() < 0.2 and isinstance(query, Select):
            width = len(query.items)
            other = self._select("", width)
            query = Union(query, other) if len(other.items) == width else query
        try:
            text = query.text(random)
        except LookupError:
            return ""
        first = query if isinstance(query, Select) else query.left
        names = tuple(item.name for item in first.items)
        listed = ""
        if len(set(names)) < len(names) or random.random() < 0.3:
            names = tuple(f"{name}{place}" for place, name in enumerate(names))
            listed = f" ({', '.join(names)})"
        view = View(f"v{len(self.views)}", names, query)
        option = ""
        if is_writable(view) and random.random() < 0.5:
            view.has_check_option, option = True, " WITH CHECK OPTION"
        self.views.append(view)
        return f"CREATE VIEW {view.name}{listed} AS {text}{option}"

    def _select(self, join: str, width: int = 0, outer: Sequence[Source] = ()) -> Select:
        random = self._random
        sources = [self._source(outer) for _ in range(2 if join else 1)]
        everything = [Ref(each, key) for each in sources for key in each.of.keys()]
        size = width or random.randint(1, len(everything))
        items = (
            everything if size == len(everything) else random.sample(everything, min(size, len(everything)))
        )
        on = Comparison(self._ref(sources[:1]), "=", self._ref(sources[1:])) if join else None
        within = [*sources, *outer]
        where = None
        if outer or random.random() < 0.6:
            right = self._ref(within) if outer or random.random() < 0.3 else random.randint(0, 2)
            where = Comparison(self._ref(sources), random.choice(("=", "<", ">")), right)
        select = Select(sources, items, join, on, where)
        if not outer and not width and random.random() < 0.4:
            select.exists = self._select("", 1, sources)
        return select

    def _source(self, outer: Sequence[Source]) -> Source:
        sources: list[Table | View] = [*self.tables, *self.views]
        of = self._random.choice(sources)
        text = "s" if of is self.tables[0] and self._random.random() < 0.3 else of.name
        return Source(of, text, self._random.choice((text, text, "q", *(each.label for each in outer))))

    def _ref(self, sources: Sequence[Source]) -> Ref:
        source = self._random.choice(sources)
        return Ref(source, self._random.choice(source.of.keys()))

    # -- Changes -------------------------------------------------------------------------------------------------------

    def change(self) -> tuple[str, int]:
        """A statement, and the SQLCODE that it ends with; the model has changed as the statement does."""
        random = self._random
        kinds: tuple[Callable[[Table], str], ...] = (
            *(self._rename_column, self._add) * 2,
            *(self._rename_table, self._drop, self._modify),
        )
        writable = [view for view in self.views if is_writable(view)]
        if writable and random.random() < 0.3:
            return self._insert(random.choice(writable))
        return random.choice(kinds)(random.choice(self.tables)), 0

    def _rename_table(self, table: Table) -> str:
        old, names = table.name, [name for name in NAMES if name not in (each.name for each in self.tables)]
        table.name = self._random.choice(names)
        return f"RENAME TABLE {old} TO {table.name}"

    def _free_name(self, table: Table) -> str:
        return self._random.choice([name for name in NAMES if name not in table.columns.values()])

    def _rename_column(self, table: Table) -> str:
        number, new = self._random.choice(table.keys()), self._free_name(table)
        old = table.columns[number]
        table.name_column(number, new)
        return f"RENAME COLUMN {table.name}.{old} TO {new}"

    def _add(self, table: Table) -> str:
        if len(table.columns) > 4:
            return self._drop(table)
        name, default = self._free_name(table), self._random.choice((None, 1))
        place = self._random.choice(["", *(f" BEFORE {each}" for each in table.columns.values())])
        table.add(name, default)
        declared = "" if default is None else f" DEFAULT {default}"
        first = place.removeprefix(" BEFORE ")
        numbers = sorted(table.columns, key=lambda each: table.columns[each] == name)
        if first:
            added = numbers.pop()
            numbers.insert([table.columns[each] for each in numbers].index(first), added)
        table.columns = {each: table.columns[each] for each in numbers}
        return f"ALTER TABLE {table.name} ADD ({name} {self._random.choice(TYPES)}{declared}{place})"

    def _drop(self, table: Table) -> str:
        if len(table.columns) == 1:
            return self._add(table)
        number = self._random.choice(table.keys())
        table.drop(number)
        return f"ALTER TABLE {table.name} DROP ({table.dropped[number]})"

    def _modify(self, table: Table) -> str:
        number = self._random.choice(table.keys())
        table.defaults[number] = None  # documented: MODIFY without DEFAULT
        return f"ALTER TABLE {table.name} MODIFY ({table.columns[number]} {self._random.choice(TYPES)})"

    def _insert(self, view: View) -> tuple[str, int]:
        values = {key: self._random.choice((None, 0, 1, 2)) for key in view.keys()}
        text = f"INSERT INTO {view.name} VALUES ({', '.join(map(_literal, values.values()))})"
        if view.query.is_broken():
            return text, -217
        made = written(view, values)
        if made.refused:
            return text, -385
        made.table.rows.append(made.row)
        return text, 0


def _literal(value: Number) -> str:
    return "NULL" if value is None else str(value)
