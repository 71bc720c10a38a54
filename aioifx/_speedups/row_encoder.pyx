# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Rows -> what SQ_TUPLE and SQ_PUT carry, natively. Never: an error's words, which types there are; aioifx's modules.

Invariants:
1. Native code never explains. It stops at a row that it does not handle, and aioifx.codecs.rows gives that row to the
   reference, which encodes it or raises.
2. Values of a class that is not the usual one, and types that are not known here, are encoded by their codec.
3. It works in a buffer of its own, which becomes bytes of the caller's only when every row in it is whole.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport PyDate_CheckExact, date_day, date_month, date_year, import_datetime
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    bint PyLong_CheckExact(object value)
    bint PyFloat_CheckExact(object value)
    bint PyUnicode_CheckExact(object value)
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bytes PyUnicode_AsEncodedString(object text, const char* encoding, const char* errors)
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    double PyFloat_AS_DOUBLE(object number)

cdef extern from *:
    """
    /* Tuples, and tuples with more to them, such as records, that are still walked through as tuples are. */
    static inline int aioifx_is_tuple(PyObject *row) {
        return PyTuple_CheckExact(row) || (
            PyTuple_Check(row) && Py_TYPE(row)->tp_iter == PyTuple_Type.tp_iter && Py_TYPE(row)->tp_as_sequence != NULL
            && Py_TYPE(row)->tp_as_sequence->sq_length == PyTuple_Type.tp_as_sequence->sq_length);
    }
    """
    bint aioifx_is_tuple(object row) noexcept

import_datetime()

cdef enum:  # aioifx.codecs.base.Kind
    OTHER = 0
    SMALLINT = 1
    INTEGER = 2
    BIGINT = 3
    FLOAT = 6
    DATE = 8
    CHAR = 12
    VARCHAR = 13
    LVARCHAR = 14

cdef enum:
    DAY_ZERO = 693595  # date(1899, 12, 31).toordinal()
    HEAD = 8  # of SQ_TUPLE and of SQ_PUT
    MOST_ROOM = 262_144  # bytes that a run begins with
    MAX_TEXT = 67_108_864  # aioifx.wire.opcodes.MAX_TEXT

cdef int* DAYS_BEFORE = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]


cdef struct Field:
    int kind
    Py_ssize_t width  # of a fixed one
    Py_ssize_t capacity  # bytes of a text
    int64_t limit  # an integer is less than that, and more than its negative
    const char* null
    Py_ssize_t null_size
    PyObject* encode


cdef struct Buffer:
    char* data
    Py_ssize_t used
    Py_ssize_t room


cdef inline int reserve(Buffer* buffer, Py_ssize_t size) except -1:
    """Make room for *size* more bytes."""
    cdef Py_ssize_t room
    cdef void* data
    if buffer.room - buffer.used < size:
        room = buffer.room * 2 + size
        data = PyMem_Realloc(buffer.data, room)
        if data == NULL:
            raise MemoryError
        buffer.data = <char*>data
        buffer.room = room
    return 0


cdef inline void put(Buffer* buffer, const char* data, Py_ssize_t size) noexcept:
    memcpy(buffer.data + buffer.used, data, size)
    buffer.used += size


cdef inline void put_number(Buffer* buffer, uint64_t number, Py_ssize_t size) noexcept:
    """The last *size* bytes, the highest first."""
    cdef uint8_t* at = <uint8_t*>buffer.data + buffer.used
    cdef Py_ssize_t place
    for place in range(size):
        at[place] = (number >> 8 * (size - 1 - place)) & 0xFF
    buffer.used += size


cdef inline void put_two(Buffer* buffer, uint64_t number) noexcept:
    cdef uint8_t* at = <uint8_t*>buffer.data + buffer.used
    at[0], at[1] = <uint8_t>(number >> 8), <uint8_t>number
    buffer.used += 2


cdef inline void put_four(Buffer* buffer, uint64_t number) noexcept:
    # Shifts of a known width become one instruction; those of `put_number` stay a loop.
    cdef uint8_t* at = <uint8_t*>buffer.data + buffer.used
    at[0], at[1] = <uint8_t>(number >> 24), <uint8_t>(number >> 16)
    at[2], at[3] = <uint8_t>(number >> 8), <uint8_t>number
    buffer.used += 4


cdef inline void put_eight(Buffer* buffer, uint64_t number) noexcept:
    put_four(buffer, number >> 32)
    put_four(buffer, number)


cdef int64_t day_number(int year, int month, int day) noexcept:
    cdef int64_t before = year - 1
    cdef bint leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    cdef int64_t days = before * 365 + before // 4 - before // 100 + before // 400 + DAYS_BEFORE[month] + day
    return days + (leap and month > 2) - DAY_ZERO


@cython.final
@cython.no_gc_clear
cdef class Encoder:
    """Encodes rows of one kind.

    Args:     codecs: of the columns. codec, errors: of the code set.
              prefix, suffix: what surrounds a row's size, before the row; both are None for bare rows.
    """

    cdef Field* _fields
    cdef Py_ssize_t _count
    cdef list _kept
    cdef bytes _codec, _errors, _prefix, _suffix
    cdef bint _keeps_ascii
    cdef Py_ssize_t _room  # bytes that the last run has needed

    def __cinit__(self, codecs, str codec not None, str errors not None, bytes prefix, bytes suffix):
        cdef Py_ssize_t index
        cdef Field* field
        self._kept = []
        self._codec, self._errors = codec.encode(), errors.encode()
        self._prefix, self._suffix = prefix, suffix
        self._room = 4096
        if prefix is not None and len(prefix) + 4 + len(suffix) != HEAD:
            raise ValueError("a head of another size")
        ascii = bytes(range(128)).decode("ascii")
        self._keeps_ascii = ascii.encode(codec, errors) == ascii.encode("ascii")
        codecs = list(codecs)
        self._count = len(codecs)
        self._fields = <Field*>PyMem_Malloc(max(self._count, 1) * sizeof(Field))
        if self._fields == NULL:
            raise MemoryError
        memset(self._fields, 0, max(self._count, 1) * sizeof(Field))
        for index, one in enumerate(codecs):
            field = &self._fields[index]
            field.kind = one.kind
            field.width = one.width
            field.encode = self._keep(one.encode)
            if field.kind in (SMALLINT, INTEGER, BIGINT):
                # The greatest integer: its negative minus one is the NULL.
                field.limit = (1 << 8 * one.width - 1) - 1
            elif field.kind == CHAR:
                field.capacity = one.width
            elif field.kind in (VARCHAR, LVARCHAR):
                field.capacity = one.capacity or MAX_TEXT
            elif field.kind not in (FLOAT, DATE):
                field.kind = OTHER
            if field.kind != OTHER:
                null = one.encode(None)
                field.null = PyBytes_AS_STRING(<object>self._keep(null))
                field.null_size = len(null)

    def __dealloc__(self):
        PyMem_Free(self._fields)

    cdef PyObject* _keep(self, object value):
        self._kept.append(value)
        return <PyObject*>value

    def run(self, rows, bytearray out not None):
        """Append the rows that the iterator *rows* gives.

        Returns:  None when there are no more; a tuple of one, the row that needs the reference, when there is one.
        """
        cdef Buffer buffer
        cdef Py_ssize_t before, here
        cdef object row, left = None
        buffer.used = 0
        buffer.room = self._room
        buffer.data = <char*>PyMem_Malloc(buffer.room)
        if buffer.data == NULL:
            raise MemoryError
        try:
            for row in rows:
                before = buffer.used
                if not self._put_row(&buffer, row):
                    buffer.used = before
                    left = (row,)
                    break
            here = PyByteArray_GET_SIZE(out)
            PyByteArray_Resize(out, here + buffer.used)
            memcpy(PyByteArray_AS_STRING(out) + here, buffer.data, buffer.used)
            self._room = min(max(buffer.used, 4096), MOST_ROOM)
        finally:
            PyMem_Free(buffer.data)
        return left

    cdef bint _put_row(self, Buffer* buffer, object row) except -1:
        cdef Py_ssize_t index, size, begin
        if not aioifx_is_tuple(row) or PyTuple_GET_SIZE(row) != self._count:
            return False
        if self._prefix is not None:
            reserve(buffer, HEAD)
            buffer.used += HEAD
        begin = buffer.used
        for index in range(self._count):
            if not self._put_value(buffer, &self._fields[index], <object>PyTuple_GET_ITEM(row, index)):
                return False
        size = buffer.used - begin
        if size > MAX_TEXT:
            return False
        if size & 1:
            reserve(buffer, 1)
            put_number(buffer, 0, 1)
        if self._prefix is not None:
            begin, buffer.used = buffer.used, begin - HEAD
            put(buffer, PyBytes_AS_STRING(self._prefix), PyBytes_GET_SIZE(self._prefix))
            put_four(buffer, size)
            put(buffer, PyBytes_AS_STRING(self._suffix), PyBytes_GET_SIZE(self._suffix))
            buffer.used = begin
        return True

    cdef bint _put_value(self, Buffer* buffer, Field* field, object value) except -1:
        """A value; False if it is for the reference to say what is wrong with it."""
        cdef int overflow = 0
        cdef int64_t number
        cdef double real
        cdef uint64_t bits
        if value is None and field.null != NULL:
            reserve(buffer, field.null_size)
            put(buffer, field.null, field.null_size)
            return True
        reserve(buffer, 8)
        if SMALLINT <= field.kind <= BIGINT and PyLong_CheckExact(value):
            number = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow or not -field.limit <= number <= field.limit:
                return False
            if field.width == 4:
                put_four(buffer, <uint64_t>number)
            elif field.width == 8:
                put_eight(buffer, <uint64_t>number)
            elif field.width == 2:
                put_two(buffer, <uint64_t>number)
            else:
                put_number(buffer, <uint64_t>number, field.width)
            return True
        if field.kind == FLOAT and PyFloat_CheckExact(value):
            real = PyFloat_AS_DOUBLE(value)
            if real == real:
                memcpy(&bits, &real, 8)
                put_eight(buffer, bits)
                return True
        elif field.kind == DATE and PyDate_CheckExact(value):
            put_four(buffer, <uint64_t>day_number(date_year(value), date_month(value), date_day(value)))
            return True
        elif field.kind >= CHAR and PyUnicode_CheckExact(value):
            return self._put_text(buffer, field, value)
        return self._put_other(buffer, field, value)

    cdef bint _put_text(self, Buffer* buffer, Field* field, object value) except -1:
        cdef bytes encoded = None
        cdef const char* data
        cdef Py_ssize_t size
        if PyUnicode_IS_COMPACT_ASCII(value) and self._keeps_ascii:
            data = <const char*>PyUnicode_DATA(value)
            size = PyUnicode_GET_LENGTH(value)
        else:
            try:
                encoded = PyUnicode_AsEncodedString(
                    value, PyBytes_AS_STRING(self._codec), PyBytes_AS_STRING(self._errors)
                )
            except Exception:
                return False
            data = PyBytes_AS_STRING(encoded)
            size = PyBytes_GET_SIZE(encoded)
        if size > field.capacity:
            return False
        if field.kind == CHAR:
            if size > 0 and data[0] == 0:
                return False
            reserve(buffer, field.width)
            put(buffer, data, size)
            memset(buffer.data + buffer.used, c' ', field.width - size)
            buffer.used += field.width - size
            return True
        reserve(buffer, size + 5)
        if field.kind == VARCHAR:
            if size == 1 and data[0] == 0:
                return False
            put_number(buffer, size, 1)
        else:
            put_number(buffer, 0, 1)
            put_four(buffer, size)
        put(buffer, data, size)
        return True

    cdef bint _put_other(self, Buffer* buffer, Field* field, object value) except -1:
        """By its codec."""
        cdef object data
        try:
            data = (<object>field.encode)(value)
        except Exception:
            return False
        if type(data) is not bytes:
            return False
        reserve(buffer, PyBytes_GET_SIZE(data))
        put(buffer, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        return True
