"""A statement's parameters: their number and form, and their encoding into requests. Never: what is sent when."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from struct import pack
from typing import Final, NamedTuple

from aioifx.client.execution.large_parameters import LargeParameters, adapters_of_descriptors, put_values
from aioifx.client.sql.hints import hint_for_values
from aioifx.client.sql.placeholders import ByName
from aioifx.client.sql.scanner import assigned_columns, placeholder_values, scan, target_table
from aioifx.codecs.arrow_rows import RowColumn
from aioifx.codecs.conversions import Adapters
from aioifx.codecs.native import EncodeArrow, arrow_params, make_encoder
from aioifx.codecs.objects import takes_objects
from aioifx.codecs.params import EncodeParamRows, ParamEncoder
from aioifx.codecs.text import CodeSet
from aioifx.errors import DatabaseError, DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import Column, SqlType, TypeCode, Value
from aioifx.wire import requests
from aioifx.wire.opcodes import Op, StatementType
from aioifx.wire.outbox import Outbox

_PLAIN: Final = (tuple, list)
"""Accepted by the bulk encoder."""

_UPDATES: Final = (StatementType.UPDATE, StatementType.UPDATE_ALL, StatementType.UPDATE_CURRENT)
_KEPT: Final = (TypeCode.BOOLEAN, TypeCode.BYTE, TypeCode.TEXT)
"""Types whose values are not sent without them."""


class RequestTemplate(NamedTuple):
    """Template of a request that is repeated with other parameters."""

    prefix: bytes
    """Bytes before the parameters; the whole request if there are none."""
    suffix: bytes
    encode: EncodeParamRows | None
    """Encodes parameters of common types into the template; None without parameters."""
    arrow: Callable[[Sequence[RowColumn]], EncodeArrow] | None = None
    """Makes the encoder of executions with the values of Arrow's columns."""


class RequestEncoder:
    """Encodes the parameters of one statement into its requests.

    Args:
        types: as described; None where the server describes none.
        kind: a `StatementType`.
        targets: the target columns of an INSERT.
        large: the parameters that are BYTE or TEXT.
    """

    def __init__(
        self,
        sql: str,
        types: Sequence[SqlType | None],
        code_set: CodeSet,
        adapters: Adapters,
        kind: int,
        targets: Sequence[Column],
        large: LargeParameters | None = None,
    ) -> None:
        self._sql = sql
        self._types = types
        self._code_set = code_set
        self._adapters = adapters_of_descriptors(types, adapters)
        self._large = large
        self._kind = kind
        self._targets = targets
        self._encoder: ParamEncoder | None = None
        self._untyped_encoder: ParamEncoder | None = None

    def template(self, before: bytes, after: bytes) -> RequestTemplate:
        """A template with parameters between *before* and *after*, if the statement has any."""
        types = self._types
        if not types:
            return RequestTemplate(before + after, b"", None)
        head = before + pack(">2H", Op.BIND, len(types))
        encode = make_encoder(types, self._code_set, head, after, self._adapters)
        arrow = partial(arrow_params, types, self._code_set, head, after, self._adapters)
        return RequestTemplate(before, after, encode, arrow)

    def encode(self, template: RequestTemplate, params: Sequence[Value]) -> bytes | bytearray:
        """*template* with encoded parameters."""
        encode = template.encode
        if encode is None:
            if params:
                check_count(self._sql, 0, params)
            return template.prefix
        filled = bytearray()
        plain = params if params.__class__ in _PLAIN else tuple(params)
        if self._large is None and encode(iter((plain,)), filled, 0)[0]:
            return filled
        outbox = Outbox()
        outbox.raw(template.prefix)
        self.put(outbox, params)
        outbox.raw(template.suffix)
        return outbox.data

    def put(self, outbox: Outbox, params: Sequence[Value], row: int | None = None) -> None:
        """Encode parameters with the reference encoder, which raises detailed errors."""
        if self._types:
            bound, values = (params, ()) if self._large is None else self._large.described(params)
            try:
                body = self._encode_reference(bound, row)
            except (DataError, NotSupportedError) as error:
                self.add_context(error, params)
                raise
            requests.put_bind(outbox, body)
            put_values(outbox, values)
        else:
            check_count(self._sql, 0, params)

    async def collect(self, params: Sequence[Value], row: int | None = None) -> Sequence[Value]:
        """The parameters, large values read from their sources; see `LargeParameters.collect`."""
        if self._large is None:
            return params
        try:
            return await self._large.collect(params, row)
        except DataError as error:
            self.add_context(error, params)
            raise

    def add_context(self, error: DatabaseError, params: Sequence[Value]) -> None:
        """Add to a parameter's error its name, the target column and the statement."""
        error.sql, number = self._sql, error.parameter
        if number is not None:
            if isinstance(params, ByName):
                text = str(error).replace(f"parameter {number}", f"parameter {params.label(number)}", 1)
                error.args = (text,)
            elif error.row_index is None and not takes_objects(self._types[number - 1]):
                if hint := hint_for_values(self._sql, 1, params):
                    error.args = (f"{error}; {hint}",)
            error.column = self._names().get(number - 1)

    def _encode_reference(self, params: Sequence[Value], row: int | None) -> bytes:
        if self._encoder is None:
            self._encoder = ParamEncoder(self._types, self._code_set, self._adapters)
        try:
            return self._encoder.encode(params, row=row)
        except DataError:
            stored = self._stored_indices()
            if len(stored) == len(self._types):
                raise
        # A parameter that is compared, not stored, may exceed the type that the server describes for it:
        # WHERE smallint_column < 100000 is valid. It is then sent with its own type, and the server decides.
        if self._untyped_encoder is None:
            types = [
                sqltype if index in stored or (sqltype and sqltype.kind in _KEPT) else None
                for index, sqltype in enumerate(self._types)
            ]
            self._untyped_encoder = ParamEncoder(types, self._code_set, self._adapters)
        return self._untyped_encoder.encode(params, row=row)

    def _columns(self) -> dict[int, Column]:
        """The target columns of the parameters that are values of an INSERT, by the parameter's index."""
        if len(self._targets) == len(self._types):
            return dict(enumerate(self._targets))
        values = placeholder_values(self._sql) if self._targets else []
        if len(values) != len(self._targets):
            return {}
        return {
            index: column for index, column in zip(values, self._targets, strict=True) if index is not None
        }

    def target_columns(self) -> dict[int, str]:
        """``table.column`` for parameters that are stored into columns, by the parameter's index."""
        if not (table := target_table(self._sql)):
            return {}
        return {index: f"{table}.{name}" for index, name in self._names().items()}

    def _names(self) -> dict[int, str]:
        """The names of the columns that parameters are stored into, as written, by the parameter's index."""
        if self._kind in _UPDATES:
            return assigned_columns(self._sql)
        return {index: found.name for index, found in self._columns().items()}

    def _stored_indices(self) -> Collection[int]:
        """Indices of the parameters that are stored into the column describing them; the others are compared.

        Source: observed: an INSERT of parameters only describes every target column (wire.md, 7.3) assumed: so does one
        with other values among them
        """
        if self._kind in _UPDATES:
            return range(scan(self._sql).before_where)
        columns = self._columns()
        if len(self._targets) == len(self._types):
            return columns
        return [index for index, column in columns.items() if column.type == self._types[index]]


def check_count(sql: str, expected: int, params: Sequence[Value]) -> None:
    """Raise InterfaceError unless there is one value for each placeholder."""
    if len(params) != expected:
        one = "parameter" if expected == 1 else "parameters"
        hint = hint_for_values(sql, expected, params)
        raise InterfaceError(f"expected {expected} {one}, got {len(params)}" + (f"; {hint}" if hint else ""))


def check_sequence(params: object, what: str) -> None:
    """Raise InterfaceError unless *params* is a sequence of values; text and mappings are not."""
    kind = type(params)
    if kind is tuple or kind is list:  # the check of an abstract class is slow
        return
    if isinstance(params, (str, bytes)) or not isinstance(params, Sequence):
        hint = "; write (value,) for a single value"
        if isinstance(params, Mapping):
            hint = "; pass a mapping as named=, and write :name in the statement"
        raise InterfaceError(f"{what}: expected a sequence, got {kind.__name__}{hint}")


def check_rows(rows: object) -> None:
    """Raise InterfaceError unless *rows* can be iterated; text and mappings are not rows, nor is Arrow data."""
    kind = type(rows)
    if issubclass(kind, (str, bytes, Mapping)) or not issubclass(kind, (Iterable, AsyncIterable)):
        raise InterfaceError(f"rows: expected an iterable or async iterable, got {kind.__name__}")
