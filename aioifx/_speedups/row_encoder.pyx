# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Native encoder of rows for SQ_TUPLE and SQ_PUT. Never: texts of errors, the list of types, aioifx's modules.

Invariants:
1. Native code never reports errors. It stops at a row that it does not handle. aioifx.codecs.rows passes that row to
   the reference, which encodes it or raises.
2. Values of an unusual class, and types that are unknown here, are encoded by their codec.
3. Rows are encoded into a private buffer. Only complete rows are copied into the caller's buffer.
4. Before a value is written, the buffer has room for the rest of its row, except for text that may be long. Room for
   such text is made when it is written.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport import_datetime
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from aioifx._speedups.common cimport (
    BIGINT, Buffer, CHAR, DATE, FLOAT, INTEGER, LVARCHAR, MAX_TEXT, OTHER, SMALLINT, TUPLE_HEAD, VARCHAR,
    day_number, is_tuple, reserve, store_u16, store_u32, store_u64,
)

# No references are counted: the row owns its values, and the caller holds the row.
cdef extern from "Python.h":
    PyObject* Py_None
    PyObject* PyTuple_GET_ITEM(object row, Py_ssize_t index)
    bint PyLong_CheckExact(PyObject* value)
    bint PyFloat_CheckExact(PyObject* value)
    bint PyUnicode_CheckExact(PyObject* value)
    bint PyUnicode_IS_COMPACT_ASCII(PyObject* text)
    void* PyUnicode_DATA(PyObject* text)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject* text)
    bytes PyUnicode_AsEncodedString(PyObject* text, const char* encoding, const char* errors)
    long long PyLong_AsLongLongAndOverflow(PyObject* number, int* overflow)
    double PyFloat_AS_DOUBLE(PyObject* number)

cdef extern from "datetime.h":
    bint PyDate_CheckExact(PyObject* value)
    int PyDateTime_GET_YEAR(PyObject* date)
    int PyDateTime_GET_MONTH(PyObject* date)
    int PyDateTime_GET_DAY(PyObject* date)

import_datetime()

cdef enum:
    MAX_INITIAL_SIZE = 262_144  # largest buffer that a run starts with, in bytes
    SHORT_TEXT = 255  # bytes; room for texts up to this size is reserved with the row
    NULL_WORD = 8  # bytes copied for any NULL; a fixed size is faster than a call


cdef struct Field:
    int kind
    Py_ssize_t width  # bytes of a fixed field
    Py_ssize_t capacity  # maximum bytes of a text
    int64_t limit  # the greatest integer; its negative is the smallest
    const char* null
    Py_ssize_t null_size
    uint8_t[NULL_WORD] null_word
    PyObject* encode


@cython.final
@cython.no_gc_clear
cdef class Encoder:
    """Encodes rows of one kind.

    Args:
        codecs: those of the columns.
        codec: that of the code set.
        errors: its error handler.
        prefix: bytes before the size that precedes a row.
        suffix: bytes after it. Both are None for bare rows.
    """

    cdef Field* _fields
    cdef Py_ssize_t _count
    cdef list _kept
    cdef bytes _codec, _errors
    cdef bint _keeps_ascii
    cdef Py_ssize_t _head_size  # bytes of the head of a row; 0 for bare rows
    cdef Py_ssize_t _size_at  # position of the row's size in the head
    cdef uint8_t[TUPLE_HEAD] _head
    cdef Py_ssize_t _row_room  # bytes of the largest row, without long texts and unknown types
    cdef Py_ssize_t _room  # bytes that the last run needed

    def __cinit__(self, codecs, str codec not None, str errors not None, bytes prefix, bytes suffix):
        cdef Py_ssize_t index
        self._kept = []
        self._codec, self._errors = codec.encode(), errors.encode()
        self._room = 4096
        if prefix is not None:
            self._size_at = len(prefix)
            head = prefix + bytes(4) + suffix
            if len(head) != TUPLE_HEAD:
                raise ValueError("a head of another size")
            self._head_size = TUPLE_HEAD
            memcpy(self._head, <const char*>head, TUPLE_HEAD)
        ascii = bytes(range(128)).decode("ascii")
        self._keeps_ascii = ascii.encode(codec, errors) == ascii.encode("ascii")
        codecs = list(codecs)
        self._count = len(codecs)
        self._fields = <Field*>PyMem_Calloc(max(self._count, 1), sizeof(Field))
        if self._fields == NULL:
            raise MemoryError
        self._row_room = self._head_size + NULL_WORD + 1
        for index, one in enumerate(codecs):
            self._row_room += self._plan(&self._fields[index], one)

    def __dealloc__(self):
        PyMem_Free(self._fields)

    cdef Py_ssize_t _plan(self, Field* field, codec) except -1:
        """Fill in *field*; returns the number of bytes to reserve for it in each row."""
        cdef Py_ssize_t room = 0
        field.kind = codec.kind
        field.width = room = codec.width
        field.encode = self._keep(codec.encode)
        if field.kind in (SMALLINT, INTEGER, BIGINT):
            # The greatest integer of the type; the smallest is NULL.
            field.limit = (1 << 8 * codec.width - 1) - 1
            if field.width != (2, 4, 8)[field.kind - SMALLINT]:
                field.kind = OTHER
        elif field.kind == CHAR:
            field.capacity = codec.width
        elif field.kind == VARCHAR:
            field.capacity = min(codec.capacity or SHORT_TEXT, SHORT_TEXT)
            room = 1 + field.capacity
        elif field.kind == LVARCHAR:
            field.capacity = codec.capacity or MAX_TEXT
            room = 5 + (field.capacity if field.capacity <= SHORT_TEXT else 0)
        elif field.kind not in (FLOAT, DATE):
            field.kind = OTHER
        if field.kind == OTHER:
            return 0
        null = codec.encode(None)
        field.null = PyBytes_AS_STRING(<object>self._keep(null))
        field.null_size = len(null)
        if field.null_size <= NULL_WORD:
            memcpy(field.null_word, field.null, field.null_size)
        return max(room, field.null_size)

    cdef PyObject* _keep(self, object value):
        self._kept.append(value)
        return <PyObject*>value

    def run(self, rows, bytearray out not None):
        """Append the rows of an iterator.

        Returns:
            None at the end of *rows*; or a tuple that holds only the row that the reference must encode.
        """
        cdef Buffer buffer
        cdef Py_ssize_t before, here
        cdef object row, rejected = None
        buffer.used = 0
        buffer.room = self._room
        buffer.data = <uint8_t*>PyMem_Malloc(buffer.room)
        if buffer.data == NULL:
            raise MemoryError
        try:
            for row in rows:
                before = buffer.used
                if not self._put_row(&buffer, row):
                    buffer.used = before
                    rejected = (row,)
                    break
            here = PyByteArray_GET_SIZE(out)
            PyByteArray_Resize(out, here + buffer.used)
            memcpy(PyByteArray_AS_STRING(out) + here, buffer.data, buffer.used)
            self._room = min(max(buffer.used + self._row_room, 4096), MAX_INITIAL_SIZE)
        finally:
            PyMem_Free(buffer.data)
        return rejected

    cdef bint _put_row(self, Buffer* buffer, object row) except -1:
        cdef Py_ssize_t index, written, size
        cdef Py_ssize_t begin = buffer.used + self._head_size
        cdef const Field* field
        cdef PyObject* value
        cdef uint8_t* at
        if not is_tuple(row) or PyTuple_GET_SIZE(row) != self._count:
            return False
        reserve(buffer, self._row_room)
        at = buffer.data + begin
        for index in range(self._count):
            field = &self._fields[index]
            value = PyTuple_GET_ITEM(row, index)
            written = put_common(field, value, at, self._keeps_ascii)
            if written < 0:
                buffer.used = at - buffer.data
                if not self._put_other(buffer, field, value, written):
                    return False
                at = buffer.data + buffer.used
            at += max(written, 0)
        size = at - buffer.data - begin
        if size > MAX_TEXT:
            return False
        if size & 1:
            at[0] = 0
            at += 1
        buffer.used = at - buffer.data
        if self._head_size:
            at = buffer.data + begin - TUPLE_HEAD
            memcpy(at, self._head, TUPLE_HEAD)
            store_u32(at + self._size_at, size)
        return True

    cdef bint _put_other(self, Buffer* buffer, const Field* field, PyObject* value, Py_ssize_t how) except -1:
        """Encode a value that `put_common` does not; False if the reference must encode or reject it."""
        cdef bytes encoded
        if how == TO_REFERENCE:
            return False
        if how == BY_CODEC:
            try:
                data = (<object>field.encode)(<object>value)
            except Exception:
                return False
            if type(data) is not bytes:
                return False
            reserve(buffer, PyBytes_GET_SIZE(data) + self._row_room)
            memcpy(buffer.data + buffer.used, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            buffer.used += PyBytes_GET_SIZE(data)
            return True
        if how == LONG_TEXT:
            return self._put_text(
                buffer, field, <const char*>PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value)
            )
        try:
            encoded = PyUnicode_AsEncodedString(
                value, PyBytes_AS_STRING(self._codec), PyBytes_AS_STRING(self._errors)
            )
        except Exception:
            return False
        return self._put_text(buffer, field, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))

    cdef bint _put_text(self, Buffer* buffer, const Field* field, const char* data, Py_ssize_t size) except -1:
        cdef Py_ssize_t written
        if size > field.capacity:
            return False
        reserve(buffer, size + self._row_room)
        written = put_text(field, data, size, buffer.data + buffer.used)
        if written < 0:
            return False
        buffer.used += written
        return True


cdef enum:  # results of put_common that are not sizes
    TO_REFERENCE = -1  # the reference must encode the row
    BY_CODEC = -2  # the codec must encode the value
    LONG_TEXT = -3  # ASCII that may need more room
    TO_ENCODE = -4  # text for the codec of the code set


cdef inline Py_ssize_t put_common(const Field* field, PyObject* value, uint8_t* at, bint keeps_ascii) noexcept:
    """Write a NULL, or a value of the usual class; returns its size."""
    cdef int overflow = 0
    cdef int64_t number
    cdef double real
    cdef uint64_t bits
    cdef Py_ssize_t size
    if value == Py_None and field.null != NULL:
        if field.null_size <= NULL_WORD:
            memcpy(at, field.null_word, NULL_WORD)
        else:
            memcpy(at, field.null, field.null_size)
        return field.null_size
    if field.kind == SMALLINT or field.kind == INTEGER or field.kind == BIGINT:
        if not PyLong_CheckExact(value):
            return BY_CODEC
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow or not -field.limit <= number <= field.limit:
            return TO_REFERENCE
        if field.kind == INTEGER:
            store_u32(at, <uint64_t>number)
            return 4
        if field.kind == BIGINT:
            store_u64(at, <uint64_t>number)
            return 8
        store_u16(at, <uint64_t>number)
        return 2
    if field.kind == VARCHAR or field.kind == LVARCHAR or field.kind == CHAR:
        if not PyUnicode_CheckExact(value):
            return BY_CODEC
        if not PyUnicode_IS_COMPACT_ASCII(value) or not keeps_ascii:
            return TO_ENCODE
        size = PyUnicode_GET_LENGTH(value)
        if size > field.capacity:
            return TO_REFERENCE
        if field.kind == LVARCHAR and field.capacity > SHORT_TEXT:
            return LONG_TEXT
        return put_text(field, <const char*>PyUnicode_DATA(value), size, at)
    if field.kind == FLOAT and PyFloat_CheckExact(value):
        real = PyFloat_AS_DOUBLE(value)
        if real == real:
            memcpy(&bits, &real, 8)
            store_u64(at, bits)
            return 8
    elif field.kind == DATE and PyDate_CheckExact(value):
        number = day_number(PyDateTime_GET_YEAR(value), PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value))
        store_u32(at, <uint64_t>number)
        return 4
    return BY_CODEC


cdef inline Py_ssize_t put_text(const Field* field, const char* data, Py_ssize_t size, uint8_t* at) noexcept:
    """Write text that fits its field; returns the field's size. A text with the bytes of NULL is rejected."""
    if field.kind == CHAR:
        if size > 0 and data[0] == 0:
            return TO_REFERENCE
        memcpy(at, data, size)
        memset(at + size, c' ', field.width - size)
        return field.width
    if field.kind == VARCHAR:
        if size == 1 and data[0] == 0:
            return TO_REFERENCE
        at[0] = <uint8_t>size
        memcpy(at + 1, data, size)
        return 1 + size
    at[0] = 0
    store_u32(at + 1, size)
    memcpy(at + 5, data, size)
    return 5 + size
