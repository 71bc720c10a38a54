# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""Native encoder of executions, by the rules of `aioifx.codecs.param_plan`. Never: texts of errors.

Rows are encoded into a private buffer. Only complete rows are copied into the caller's buffer.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.datetime cimport (
    date_day, date_month, date_year, datetime_day, datetime_hour, datetime_microsecond, datetime_minute,
    datetime_month, datetime_second, datetime_year, import_datetime, time_hour, time_microsecond,
    time_minute, time_second, time_tzinfo,
)
from cpython.list cimport PyList_AsTuple
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from aioifx._speedups.common cimport (
    Buffer, day_number, is_tuple, put, put_byte, put_u16, put_u32, put_u64, reserve,
)

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT(object text)
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    bytes PyUnicode_AsEncodedString(object text, const char* encoding, const char* errors)
    bytes PyUnicode_AsUTF8String(object text)
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    double PyFloat_AS_DOUBLE(object number)
    PyTypeObject* Py_TYPE(object value)
    PyObject* Py_None

cdef extern from "datetime.h":
    PyObject* datetime_zone "PyDateTime_DATE_GET_TZINFO"(object moment)

import_datetime()

cdef enum:  # aioifx.codecs.param_plan.PackOp
    OTHER, CONSTANT, SMALL, INT, LONG, SPLIT, DOUBLE, SINGLE, WHOLE, DAY, MOMENT, CLOCK, TRUTH, SHORT_TEXT, LONG_TEXT
    NUMBER

cdef enum:
    MONEY = 8
    MAX_PAIRS = 16
    MAX_DIGITS = 400

cdef frozenset INTEGERS = frozenset((SMALL, INT, LONG, SPLIT, WHOLE))


cdef struct PackRule:
    PyTypeObject* kind
    int op
    bint refuses_nul
    Py_ssize_t head_size
    Py_ssize_t other_size
    const char* head
    const char* other
    int64_t limit
    PyObject* zone


cdef struct PackRules:
    PackRule* by_class
    Py_ssize_t count
    Py_ssize_t last  # the rule of the value before this one
    PyObject* bind


cdef inline bint fits(object value, int64_t limit, int64_t* number) except -1:
    """Whether an int is from -limit to limit; stores it in *number*."""
    cdef int overflow = 0
    number[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    return not overflow and -limit <= number[0] <= limit


cdef bint put_moment(Buffer* buffer, PackRule* rule, object value) noexcept:
    """A datetime that is naive, or of the rule's zone; False for another one."""
    cdef uint8_t* at = buffer.data + buffer.used
    cdef int year = datetime_year(value), micro = datetime_microsecond(value)
    if datetime_zone(value) != Py_None and datetime_zone(value) != rule.zone:
        return False
    micro -= micro % <int>rule.limit
    at[0] = 0xC7
    at[1] = <uint8_t>(year // 100)
    at[2] = <uint8_t>(year % 100)
    at[3] = <uint8_t>datetime_month(value)
    at[4] = <uint8_t>datetime_day(value)
    at[5] = <uint8_t>datetime_hour(value)
    at[6] = <uint8_t>datetime_minute(value)
    at[7] = <uint8_t>datetime_second(value)
    at[8] = <uint8_t>(micro // 10_000)
    at[9] = <uint8_t>(micro // 100 % 100)
    at[10] = <uint8_t>(micro % 100)
    at[11] = 0
    buffer.used += 12
    return True


cdef bint put_number(Buffer* buffer, PackRule* rule, const char* text, Py_ssize_t size) except -1:
    """Encode a number in decimal notation as base 100; False if the reference must encode it.

    The rest of the entry: 2 scale · 2 size · head byte · pairs · pad to even.
    """
    cdef char digits[MAX_DIGITS + 8]
    cdef uint8_t pairs[MAX_PAIRS]
    cdef Py_ssize_t at = 0, count = 0, first, index, pair_count, last
    cdef int64_t exponent = 0, shift = 0, shown, highest
    cdef bint negative = False, has_point = False, shift_negative = False, is_zero
    cdef char c
    if size > MAX_DIGITS:
        return False
    if at < size and text[at] == c'-':
        negative = True
        at += 1
    digits[0] = c'0'  # room for a digit that makes their number even
    count = 1
    while at < size:
        c = text[at]
        at += 1
        if c'0' <= c <= c'9':
            digits[count] = c
            count += 1
            exponent -= has_point
        elif c == c'.' and not has_point:
            has_point = True
        elif c == c'E' or c == c'e':
            if at < size and (text[at] == c'-' or text[at] == c'+'):
                shift_negative = text[at] == c'-'
                at += 1
            if at == size or size - at > 6:
                return False
            while at < size:
                c = text[at]
                at += 1
                if not c'0' <= c <= c'9':
                    return False
                shift = shift * 10 + (c - c'0')
            exponent += -shift if shift_negative else shift
        else:
            return False  # NaN, Infinity
    if count == 1:
        return False
    shown = -exponent
    if exponent & 1:
        digits[count] = c'0'
        count += 1
        exponent -= 1
    first = 0 if count % 2 == 0 else 1
    while first < count and digits[first] == c'0' and digits[first + 1] == c'0':
        first += 2
    is_zero = first >= count
    if is_zero:
        negative = False
        highest = -64
        pairs[0] = 0
        pair_count = 1
        shown = 0
    else:
        highest = (count - first + exponent) // 2
        pair_count = (count - first) // 2
        if pair_count > MAX_PAIRS or highest < -64 or highest > 63:
            return False
        # The position of the first nonzero digit must not exceed the limit.
        if 2 * highest - (1 if digits[first] == c'0' else 0) > rule.limit:
            return False
        for index in range(pair_count):
            pairs[index] = (digits[first + 2 * index] - c'0') * 10 + (digits[first + 2 * index + 1] - c'0')
    if negative:
        last = pair_count - 1
        while last > 0 and pairs[last] == 0:
            last -= 1
        for index in range(last):
            pairs[index] = 99 - pairs[index]
        pairs[last] = 100 - pairs[last]
    if rule.head[1] == MONEY:
        shown = 0
    put_u16(buffer, <uint64_t>shown)
    put_u16(buffer, pair_count + 1)
    put_byte(buffer, (<int>highest + 64) ^ 0x7F if negative else (<int>highest + 64) | 0x80)
    put(buffer, <const char*>pairs, pair_count)
    if not pair_count & 1:
        put_byte(buffer, 0)
    return True


@cython.final
@cython.no_gc_clear
cdef class Encoder:
    """An EncodeParamRows of `aioifx.codecs.params`.

    Args:
        parameters: the PackRules of each parameter.
        codec: that of the code set.
        errors: its error handler.
        head: bytes before each execution.
        tail: bytes after each execution.
    """

    cdef PackRules* _parameters
    cdef Py_ssize_t _count
    cdef list _kept
    cdef bytes _head, _tail, _codec, _errors
    cdef bint _keeps_ascii, _is_latin1, _is_utf8

    def __cinit__(self, parameters, str codec not None, str errors not None, bytes head not None, bytes tail not None):
        cdef Py_ssize_t index, place
        cdef PackRules* rules
        cdef PackRule* rule
        self._kept = []
        self._head, self._tail = head, tail
        self._codec, self._errors = codec.encode(), errors.encode()
        ascii = bytes(range(128)).decode("ascii")
        self._keeps_ascii = ascii.encode(codec, errors) == ascii.encode("ascii")
        self._is_latin1 = codec == "latin-1"
        self._is_utf8 = codec == "utf-8" and errors == "strict"
        self._count = len(parameters)
        self._parameters = <PackRules*>PyMem_Malloc(max(self._count, 1) * sizeof(PackRules))
        if self._parameters == NULL:
            raise MemoryError
        memset(self._parameters, 0, max(self._count, 1) * sizeof(PackRules))
        for index, (by_class, rest) in enumerate(parameters):
            rules = &self._parameters[index]
            rules.bind = self._keep(rest.bind)
            rules.by_class = <PackRule*>PyMem_Malloc(max(len(by_class), 1) * sizeof(PackRule))
            if rules.by_class == NULL:
                raise MemoryError
            for place, (kind, described) in enumerate(by_class.items()):
                rule = &rules.by_class[place]
                rule.kind = <PyTypeObject*>self._keep(kind)
                rule.op = described.op
                rule.zone = self._keep(described.zone)
                rule.refuses_nul = described.refuses_nul
                # 1 << 63 does not fit an int64_t, so it is replaced by the greatest integer that does.
                rule.limit = described.limit - 1 if described.op in INTEGERS else described.limit
                rule.head = PyBytes_AS_STRING(<object>self._keep(described.head))
                rule.head_size = len(described.head)
                rule.other = PyBytes_AS_STRING(<object>self._keep(described.other))
                rule.other_size = len(described.other)
                rules.count = place + 1

    def __dealloc__(self):
        cdef Py_ssize_t index
        if self._parameters != NULL:
            for index in range(self._count):
                PyMem_Free(self._parameters[index].by_class)
            PyMem_Free(self._parameters)

    cdef PyObject* _keep(self, object value):
        self._kept.append(value)
        return <PyObject*>value

    def __call__(self, rows, bytearray out not None, Py_ssize_t limit):
        """See EncodeParamRows."""
        cdef Buffer buffer
        cdef Py_ssize_t taken = 0, before, here = PyByteArray_GET_SIZE(out)
        cdef object row, left = None
        buffer.used = 0
        buffer.room = 4096
        buffer.data = <uint8_t*>PyMem_Malloc(buffer.room)
        if buffer.data == NULL:
            raise MemoryError
        try:
            for row in rows:
                before = buffer.used
                if not self._put_row(&buffer, row):
                    buffer.used = before
                    left = (row,)
                    break
                taken += 1
                if here + buffer.used >= limit:
                    break
            here = PyByteArray_GET_SIZE(out)
            PyByteArray_Resize(out, here + buffer.used)
            memcpy(PyByteArray_AS_STRING(out) + here, buffer.data, buffer.used)
        finally:
            PyMem_Free(buffer.data)
        return taken, left

    cdef bint _put_row(self, Buffer* buffer, object row) except -1:
        cdef Py_ssize_t index, before
        cdef object value
        if type(row) is list:
            row = PyList_AsTuple(row)  # another thread, or str(value), may change the list
        elif not is_tuple(row):
            return False
        if PyTuple_GET_SIZE(row) != self._count:
            return False
        reserve(buffer, PyBytes_GET_SIZE(self._head))
        put(buffer, PyBytes_AS_STRING(self._head), PyBytes_GET_SIZE(self._head))
        for index in range(self._count):
            value = <object>PyTuple_GET_ITEM(row, index)
            before = buffer.used
            if not self._put_value(buffer, &self._parameters[index], value):
                buffer.used = before
                if not self._put_other(buffer, &self._parameters[index], value):
                    return False
        reserve(buffer, PyBytes_GET_SIZE(self._tail))
        put(buffer, PyBytes_AS_STRING(self._tail), PyBytes_GET_SIZE(self._tail))
        return True

    cdef bint _put_value(self, Buffer* buffer, PackRules* rules, object value) except -1:
        """Encode a value of a common class. False, perhaps after some bytes, if the reference must encode the row."""
        cdef PackRule* rule
        cdef PyTypeObject* kind = Py_TYPE(value)
        cdef Py_ssize_t place = rules.last
        cdef int64_t number = 0
        cdef double real
        cdef float single
        cdef uint64_t bits
        cdef uint32_t few
        if rules.by_class[place].kind != kind:
            for place in range(rules.count):
                if rules.by_class[place].kind == kind:
                    rules.last = place
                    break
            else:
                return False
        rule = &rules.by_class[place]
        reserve(buffer, rule.head_size + 16)
        if rule.op == SHORT_TEXT or rule.op == LONG_TEXT:
            put(buffer, rule.head, rule.head_size)
            return self._put_text(buffer, rule, value)
        if rule.op == TRUTH and value is False:
            reserve(buffer, rule.other_size)
            put(buffer, rule.other, rule.other_size)
            return True
        put(buffer, rule.head, rule.head_size)
        if rule.op == CONSTANT or rule.op == TRUTH:
            return True
        if rule.op == INT:
            if not fits(value, rule.limit, &number):
                return False
            put_u32(buffer, <uint64_t>number)
            return True
        if rule.op == LONG:
            if not fits(value, rule.limit, &number):
                return False
            put_u64(buffer, <uint64_t>number)
            return True
        if rule.op == DOUBLE or rule.op == WHOLE:
            if rule.op == WHOLE:
                if not fits(value, rule.limit, &number):
                    return False
                real = <double>number
            else:
                real = PyFloat_AS_DOUBLE(value)
                if real != real:
                    return False
            memcpy(&bits, &real, 8)
            put_u64(buffer, bits)
            return True
        if rule.op == DAY:
            number = day_number(date_year(value), date_month(value), date_day(value))
            put_u32(buffer, <uint64_t>number)
            return True
        if rule.op == NUMBER:
            return self._put_number(buffer, rule, value)
        if rule.op == MOMENT:
            return put_moment(buffer, rule, value)
        if rule.op == CLOCK:
            if time_tzinfo(value) is not None or time_microsecond(value):
                return False
            put_byte(buffer, 0xC3)
            put_byte(buffer, time_hour(value))
            put_byte(buffer, time_minute(value))
            put_byte(buffer, time_second(value))
            return True
        if rule.op == SINGLE:
            real = PyFloat_AS_DOUBLE(value)
            single = <float>real
            if real != real or (isinf(single) and not isinf(real)):
                return False
            memcpy(&few, &single, 4)
            put_u32(buffer, few)
            return True
        if not fits(value, rule.limit, &number):
            return False
        if rule.op == SMALL:
            put_u16(buffer, <uint64_t>number)
            return True
        if rule.op == SPLIT:
            put_u16(buffer, 0xFFFF if number < 0 else 1)
            number = -number if number < 0 else number
            put_u32(buffer, <uint64_t>number)
            put_u32(buffer, <uint64_t>number >> 32)
            return True
        return False

    cdef bint _put_text(self, Buffer* buffer, PackRule* rule, object value) except -1:
        cdef bytes encoded
        cdef const char* data
        cdef Py_ssize_t size
        if PyUnicode_IS_COMPACT_ASCII(value) and self._keeps_ascii or (
            self._is_latin1 and PyUnicode_IS_COMPACT(value) and PyUnicode_KIND(value) == 1
        ):
            data = <const char*>PyUnicode_DATA(value)
            size = PyUnicode_GET_LENGTH(value)
        else:
            try:
                if self._is_utf8:
                    encoded = PyUnicode_AsUTF8String(value)
                else:
                    encoded = PyUnicode_AsEncodedString(
                        value, PyBytes_AS_STRING(self._codec), PyBytes_AS_STRING(self._errors)
                    )
            except Exception:
                return False
            data = PyBytes_AS_STRING(encoded)
            size = PyBytes_GET_SIZE(encoded)
        if size > rule.limit or (rule.refuses_nul and size > 0 and data[0] == 0):
            return False
        reserve(buffer, size + 8)
        if rule.op == SHORT_TEXT:
            put_u16(buffer, size)
        else:
            put_u32(buffer, size)
        put(buffer, data, size)
        if size & 1:
            put_byte(buffer, 0)
        return True

    cdef bint _put_number(self, Buffer* buffer, PackRule* rule, object value) except -1:
        cdef object text
        try:
            text = repr(value) if type(value) is float else str(value)
        except Exception:
            return False
        if not PyUnicode_IS_COMPACT_ASCII(text):
            return False
        reserve(buffer, MAX_PAIRS + 16)
        return put_number(buffer, rule, <const char*>PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))

    cdef bint _put_other(self, Buffer* buffer, PackRules* rules, object value) except -1:
        """Encode by the reference; False if it rejects the value."""
        cdef object entry
        try:
            entry = (<object>rules.bind)(value)
        except Exception:
            return False
        if type(entry) is not bytes:
            return False
        reserve(buffer, PyBytes_GET_SIZE(entry))
        put(buffer, PyBytes_AS_STRING(entry), PyBytes_GET_SIZE(entry))
        return True
