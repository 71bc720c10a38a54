"""Adapters of parameters: the user's, and those that write rows, collections and documents. Never: an entry's bytes."""

from __future__ import annotations

from collections.abc import Sequence

from aioifx.codecs.conversions import Adapter, Adapters, Conversions, Convert
from aioifx.codecs.documents import document_encoder
from aioifx.codecs.text import CodeSet
from aioifx.sqltypes import SqlType, Value


class _ObjectAdapter(Adapter):
    """Writes an object as text or bytes, after the user's adapter.

    Args:
        is_text: the text of a value is bound as it is.
    """

    def __init__(self, before: Adapter, write: Convert, *, is_text: bool) -> None:
        self._before = before
        self._write = write
        self.is_standard = False
        self.only_zone = None
        self.as_is = before.as_is & ({type(None), str} if is_text else {type(None)})

    def __call__(self, value: Value) -> Value:
        """The text or bytes; None for NULL."""
        adapted = self._before(value)
        return None if adapted is None else self._write(adapted)


def takes_objects(sql_type: SqlType | None) -> bool:
    """Whether mappings and sequences are values of the type."""
    return sql_type is not None and (bool(sql_type.fields) or sql_type.opaque_name in ("json", "bson"))


def adapters_for(conversions: Conversions, types: Sequence[SqlType | None], code_set: CodeSet) -> Adapters:
    """The adapters of several parameters; empty if all are standard."""
    adapters = tuple([_adapter_for(conversions, sql_type, code_set) for sql_type in types])
    return () if all(adapter.is_standard for adapter in adapters) else adapters


def _adapter_for(conversions: Conversions, sql_type: SqlType | None, code_set: CodeSet) -> Adapter:
    before = conversions.adapter_for(sql_type)
    if conversions.json is None or sql_type is None:
        return before
    if sql_type.fields:
        from aioifx.codecs.literal_writer import literal_writer  # rarely needed

        return _ObjectAdapter(before, literal_writer(sql_type, conversions, code_set), is_text=True)
    write = document_encoder(sql_type, conversions)
    if write is None:
        return before
    return _ObjectAdapter(before, write, is_text=sql_type.opaque_name == "json")
