"""Rows as users see them: Record and the row factories. Never: bytes, where rows come from."""

from __future__ import annotations

import inspect
import keyword
import re
import sys
import unicodedata
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, Final, SupportsIndex, TypeAlias, TypeVar, overload

from aioifx.errors import InterfaceError, visible
from aioifx.sqltypes import Column, Row, Value

R = TypeVar("R")
T = TypeVar("T")

if TYPE_CHECKING:  # a default is Python 3.13's; type checkers bring it along
    from typing_extensions import TypeVar as TypeVarWithDefault

    Item = TypeVarWithDefault("Item", covariant=True, default="Record")
    """The row type of a connection, for calls without a row factory of their own."""
else:
    Item = TypeVar("Item", covariant=True)

RowFactory: TypeAlias = Callable[[Sequence[Column]], Callable[[Row], R]]
"""Called once per statement with its columns; returns the function that makes a row from a plain tuple."""

_SHAPES: Final = 256
"""Shapes of records that are cached; a shape is the names of the columns."""
_MAX_COMPILED: Final = 500
"""The largest number of columns to compile a function for. Compiling one for 32,767 takes half a second."""

_at: Final[Callable[[Row, Any], Value]] = vars(tuple)["__getitem__"]
_new_namedtuple: Callable[[str, Sequence[str]], Any] = namedtuple  # type checkers want its fields written out


class Record(tuple[Value, ...]):
    """One row: a tuple whose values can also be read by column name.

    It is compared, hashed, sliced, iterated and pickled as the tuple of its values. Names are as the server sends
    them: in lower case, and ``(count(*))`` or ``(expression)`` where the query gives none. Results of a routine that
    have no name are ``expression_1``, ``expression_2``. When two columns have the same name, the name means the first.
    There is no attribute access, because a column may have a name such as ``keys``.
    """

    # Each shape is a subclass with these two filled in: a record itself is no larger than its tuple, and making
    # one is one call of tuple.__new__, without Python code.
    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _places: ClassVar[dict[str, int]] = {}

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Value: ...
    @overload
    def __getitem__(self, key: slice, /) -> Row: ...
    @overload
    def __getitem__(self, key: str, /) -> Value: ...
    def __getitem__(self, key: SupportsIndex | slice | str, /) -> Value:
        if isinstance(key, str):
            try:
                key = self._places[key]
            except KeyError:
                raise KeyError(f"no column {key!r} among {listed(self._names)}") from None
        return _at(self, key)

    def keys(self) -> tuple[str, ...]:
        """The names of all columns, in order."""
        return self._names

    def values(self) -> Row:
        """The values as a plain tuple."""
        return tuple(self)

    def items(self) -> tuple[tuple[str, Value], ...]:
        """The name and value of each column, in order."""
        return tuple(zip(self._names, self, strict=True))

    @overload
    def get(self, name: str) -> Value | None: ...
    @overload
    def get(self, name: str, default: T) -> Value | T: ...
    def get(self, name: str, default: object = None) -> Value:
        """The value of the column *name*, or *default* if there is no such column.

        ``row[name]`` raises KeyError instead.
        """
        place = self._places.get(name)
        return default if place is None else _at(self, place)

    def asdict(self) -> dict[str, Value]:
        """A new dict from names to values.

        Raises:
            InterfaceError: two columns have the same name.
        """
        if len(self._places) < len(self._names):
            _check_distinct("asdict: expected distinct column names", self._names)
        return {name: _at(self, place) for name, place in self._places.items()}

    def __repr__(self) -> str:
        fields = "".join(f" {visible(name)}={value!r}" for name, value in self.items())
        return f"<Record{fields}>"

    def __reduce__(self) -> tuple[Callable[[tuple[str, ...], Row], Record], tuple[tuple[str, ...], Row]]:
        return _restore, (self._names, tuple(self))


@lru_cache(maxsize=_SHAPES)
def _shape(names: tuple[str, ...]) -> type[Record]:
    members = {"__slots__": (), "_names": names, "_places": _first_places(names)}
    shape = type("Record", (Record,), {"__module__": Record.__module__, **members})
    if len(_shapes) >= _SHAPES:
        _shapes.clear()
    return _shapes.setdefault(names, shape)  # lru_cache lets each of several threads make one


_shapes: Final[dict[tuple[str, ...], type[Record]]] = {}


def _restore(names: tuple[str, ...], row: Row) -> Record:
    return _shape(names)(row)


def _first_places(names: Sequence[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(name, place)
    return places


def listed(names: Sequence[str]) -> str:
    """Names of columns, for messages."""
    return ", ".join(map(visible, names))


def _check_distinct(what: str, names: Sequence[str]) -> None:
    """Raise InterfaceError if two columns have the same name.

    Args:
        what: start of the message.
    """
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InterfaceError(f"{what}, got {visible(twice)!r} twice; rename one with AS")


def _names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple([column.name for column in columns])


def unique_names(columns: Sequence[Column]) -> list[str]:
    """The names of columns; the second one with the same name becomes ``name_2``, for readers that need each once."""
    names = _names_of(columns)
    unique: list[str] = []
    taken = set(names)
    for name in names:
        found, repetition = name, 1
        while found in unique or (repetition > 1 and found in taken):
            repetition += 1
            found = f"{name}_{repetition}"
        unique.append(found)
    return unique


def record_maker(columns: Sequence[Column]) -> Callable[[Row], Record]:
    """The function that makes a Record from a plain tuple; the same object for the same column names."""
    return _shape(_names_of(columns))


# -- row factories ----------------------------------------------------------------------------------------------------


def record_row(columns: Sequence[Column]) -> Callable[[Row], Record]:
    """Rows as `Record` objects, the default."""
    return record_maker(columns)


def tuple_row(columns: Sequence[Column]) -> Callable[[Row], Row]:
    """Rows as the plain tuples that the decoder makes; the fastest."""
    return identity


def identity(row: Any) -> Any:
    """Return *row* unchanged."""
    return row


def row_type_of(make: Callable[[Row], Any]) -> type[Row] | None:
    """The class that a decoder may create directly instead of calling *make*; None if it must call *make*."""
    if make is identity:
        return tuple
    # A subclass of Record may be the user's, and do more than hold its values.
    if isinstance(make, type) and issubclass(make, Record):
        names = make._names  # pyright: ignore[reportPrivateUsage] - it is this module's own
        return make if make is _shape(names) else None
    return None


def dict_row(columns: Sequence[Column]) -> Callable[[Row], dict[str, Value]]:
    """Rows as dicts.

    Raises:
        InterfaceError: two columns have the same name. It is raised before the first row is made.
    """
    return _dict_maker(_names_of(columns))


@lru_cache(maxsize=_SHAPES)
def _dict_maker(names: tuple[str, ...]) -> Callable[[Row], dict[str, Value]]:
    _check_distinct("row_factory: expected distinct column names for dict_row", names)
    places = _first_places(names)
    if len(names) > _MAX_COMPILED:
        return lambda row: dict(zip(places, map(row.__getitem__, places.values()), strict=True))
    make: Callable[[Row], dict[str, Value]] = _compiled(len(names), _display(places), {})
    return make


def _compiled(width: int, expression: str, names: dict[str, object]) -> Callable[[Row], Any]:
    """A function of a row that returns *expression*, in which the values are v0, v1, ...

    It is compiled once for a shape, and takes half the time of a loop over names and values. A row of another width
    raises ValueError.
    """
    exec(_code(width, expression), names)
    make: Callable[[Row], Any] = names["make"]  # type: ignore[assignment]
    return make


@lru_cache(maxsize=_SHAPES)
def _code(width: int, expression: str) -> CodeType:
    source = (
        f"def make(row):\n [{', '.join(f'v{place}' for place in range(width))}] = row\n return {expression}"
    )
    return compile(source, "<aioifx rows>", "exec")


def _display(places: dict[str, int]) -> str:
    """The source of a dict display of these values, with the column names as string literals."""
    return f"{{{', '.join(f'{name!r}: v{place}' for name, place in places.items())}}}"


def namedtuple_row(columns: Sequence[Column]) -> Callable[[Row], Any]:
    """Rows as named tuples. Names that are not identifiers are changed: ``(count(*))`` becomes ``count``.

    The second column with the same name becomes ``name_2``. A keyword gets a trailing underscore. A name without
    letters or digits becomes ``column_1``, by its position.

    Its class is created once for a statement, in about 10 microseconds for each column. Results of many thousand
    columns block the event loop for that time; records and dicts do not.
    """
    return _namedtuple(_names_of(columns))


@lru_cache(maxsize=_SHAPES)
def _namedtuple(names: tuple[str, ...]) -> Callable[[Row], Any]:
    fields: dict[str, None] = {}
    repetitions: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        field = identifier = _as_identifier(name, number)
        while field in fields:
            repetition = repetitions[identifier] = repetitions.get(identifier, 1) + 1
            field = f"{identifier}_{repetition}"
        fields[field] = None
    make: Callable[[Row], Any] = _new_namedtuple("Row", [*fields])._make
    return make


def _as_identifier(name: str, number: int) -> str:
    # Python folds identifiers by NFKC when it reads them, so a field that is not folded could not be reached.
    folded = unicodedata.normalize("NFKC", name)
    # Not ``\w``, which also matches numbers that identifiers cannot contain, such as U+10E60.
    allowed = "".join(c if f"a{c}".isidentifier() else "\0" for c in folded)
    field = re.sub("\0+", "_", allowed).strip("_")
    if not field:
        return f"column_{number}"
    if not field.isidentifier():
        field = f"column_{field}"
    return field + "_" if keyword.iskeyword(field) else field


def class_row(model: Callable[..., T]) -> RowFactory[T]:
    """Rows as objects of *model*, called with a keyword per column: a dataclass, a pydantic model, any class.

    Raises:
        InterfaceError: a statement's columns do not fit the parameters of *model*. It is raised before the first row is
            made.
    """

    def factory(columns: Sequence[Column]) -> Callable[[Row], T]:
        names = _names_of(columns)
        _check_fit(model, names)
        return _compiled(len(names), f"model({_arguments(names)})", {"model": model})

    return factory


def _arguments(names: tuple[str, ...]) -> str:
    """The source of the keyword arguments. Names that are not identifiers, or that Python normalises, go in a dict."""
    spelt = [f"{name}=v{place}" for place, name in enumerate(names) if _is_argument(name)]
    others = {name: place for place, name in enumerate(names) if not _is_argument(name)}
    return ", ".join([*spelt, f"**{_display(others)}"] if others else spelt)


def _is_argument(name: str) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and name != "__debug__"
        and unicodedata.normalize("NFKC", name) == name
    )


def _signature_of(model: Callable[..., object]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        from annotationlib import Format

        # Annotations may have names that only type checkers know: to evaluate them would raise NameError.
        return inspect.signature(model, annotation_format=Format.STRING)
    return inspect.signature(model)


def _check_fit(model: Callable[..., object], names: tuple[str, ...]) -> None:
    label = getattr(model, "__name__", repr(model))
    _check_distinct(f"row_factory: expected distinct column names for {label}", names)
    try:
        signature = _signature_of(model)
    except ValueError:  # some built-in classes have none; the call itself will tell
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise InterfaceError(
            f"row_factory: {label} does not fit the columns {listed(names)}: {visible(str(error))}"
        ) from None
