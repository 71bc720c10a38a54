"""JSON and BSON <-> Python objects, by the functions of a connection. Never: an envelope, the form of BSON.

A type codec of the user for such a type replaces the decoding here: it gets the text of JSON, or the bytes of BSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from aioifx.codecs.conversions import JSON, Conversions, Convert, JsonFunctions, called
from aioifx.errors import DataError
from aioifx.sqltypes import SqlType, TypeCode, Value

_OPAQUE: Final = (TypeCode.UDTVAR, TypeCode.UDTFIXED, TypeCode.OPAQUE)


def document_decoder(sql_type: SqlType, conversions: Conversions) -> Convert | None:
    """The function from the text or bytes of a JSON or BSON value to an object; None for other types."""
    functions = conversions.json
    if functions is None or sql_type.kind not in _OPAQUE or conversions.decoder_for(sql_type) is not None:
        return None
    if sql_type.opaque_name == "json":
        return _loader(functions, _NOT_JSON)
    if sql_type.opaque_name == "bson":
        load = _loader(functions, _NOT_JSON)
        return lambda data: _read_bson(data, load)
    return None


_NOT_JSON: Final = "not valid JSON; cast it to lvarchar to select its text"
_parse: Final = json.JSONDecoder().decode


def _loader(functions: JsonFunctions, message: str) -> Convert:
    """The function that decodes JSON; *message* is that of the error for text that is not JSON."""
    loads = functions.loads
    if loads is not json.loads:
        return lambda text: called(loads, text, "json_loads")

    def load(text: str) -> Value:
        try:
            return _parse(text)
        except (ValueError, RecursionError):
            raise DataError(message) from None

    return load


def _read_bson(data: str | bytes, load: Convert) -> Value:
    """BSON, or its text as JSON, which a server may send without RET_TYPE (assumed)."""
    if isinstance(data, str):
        return load(data)
    if data[:1] == b"{" and int.from_bytes(data[:4], "little") != len(data):
        try:
            return load(data.decode())
        except UnicodeDecodeError:
            raise DataError("neither BSON nor JSON") from None
    from aioifx.codecs.bson import decode_document  # rarely needed

    return decode_document(data)


def document_encoder(sql_type: SqlType, conversions: Conversions) -> Convert | None:
    """The function from an object to the text of JSON or the bytes of BSON; None for other types.

    A str is the text of JSON, for both types, and bytes are BSON. A server does not convert text to BSON without
    ``::json`` (assumed), so the text is parsed here.
    """
    functions = conversions.json
    if functions is None or sql_type.kind not in _OPAQUE:
        return None
    if sql_type.opaque_name == "json":
        return lambda value: value if isinstance(value, str) else _dumped(value, functions)
    if sql_type.opaque_name == "bson":
        load = _loader(functions, "not valid JSON")
        return lambda value: _encode_bson(load(value) if isinstance(value, str) else value)
    return None


def _dumped(value: Value, functions: JsonFunctions) -> str:
    if functions.dumps is JSON.dumps:
        try:
            text = functions.dumps(value)
        except TypeError:
            raise DataError(f"JSON does not accept {type(value).__name__}, or a value in it") from None
        except (ValueError, RecursionError):
            raise DataError("JSON does not accept NaN, infinity or a cycle") from None
    else:
        text = called(functions.dumps, value, "json_dumps")
    if isinstance(text, bytes):
        text = called(bytes.decode, text, "json_dumps: UTF-8")
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - it is the user's
        raise DataError(f"json_dumps: expected str or bytes, got {type(text).__name__}")
    return text


def _encode_bson(value: Value) -> Value:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, Mapping):
        from aioifx.codecs.bson import encode_document

        return encode_document(cast("Mapping[str, Value]", value))
    raise DataError(f"BSON does not accept {type(value).__name__}")
