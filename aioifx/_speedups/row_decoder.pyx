# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
# cython: freethreading_compatible=True
"""Native decoder of runs of tuples, with the results of codecs/*.py. Never: texts of errors, aioifx's modules.

Invariants:
1. Native code never reports errors. It stops at a row that it does not handle, and returns its position. The
   reference decodes that row or raises. Unusual values are left to it on purpose, so that each error has one source.
2. Bytes from the network are never trusted. A row must lie within the buffer. The minimum sizes of its fields are
   summed once and must fit the row; variable fields share the remaining bytes, which must be used up. Each length is
   read once, so that changes to the buffer meanwhile do no harm.
3. The buffer is exported only during a run. Python code that is called meanwhile cannot resize it.
4. A decoder never changes. The module has two caches, which the interpreter lock protects. Without that lock there are
   no caches.

It is one module because each field's decoder is compiled into the loop over rows. The decoders of numbers and dates use
this module's caches and tables. From another module they would be called through pointers.

Functions return a new reference. NULL without an exception means that the row needs the reference. NULL with an
exception means that Python raised it.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.datetime cimport import_datetime
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from aioifx._speedups.common cimport (
    BIGINT, BOOLEAN, CHAR, DATE, DATETIME, DECIMAL, ENVELOPE_HEAD, FIRST_DAY, FLOAT, INT8, INTEGER, INTEGRAL, INTERVAL,
    IS_NUMBER, LAST_DAY, LVARCHAR, MAX_PAIRS, NOT_A_NUMBER, NULL_NUMBER, Number, SMALLFLOAT, SMALLINT, TUPLE, TUPLE_HEAD,
    Unpacked, VARCHAR, VARCHAR_HEAD, i16, i32, is_ascii, u32, u64, unpack,
)

from decimal import MAX_EMAX, MIN_EMIN, Context

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        Py_ssize_t tp_basicsize
        Py_ssize_t tp_itemsize
        Py_ssize_t tp_dictoffset
        void* tp_new
        void* tp_init
    PyTypeObject PyTuple_Type
    PyTypeObject PyBaseObject_Type
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    void Py_INCREF(PyObject*)
    void Py_DECREF(PyObject*)
    PyObject* PyErr_Occurred()
    int PyErr_ExceptionMatches(PyObject*)
    void PyErr_Clear()
    PyObject* PyLong_FromLong(long)
    PyObject* PyLong_FromLongLong(long long)
    PyObject* PyLong_FromUnsignedLongLong(unsigned long long)
    PyObject* PyFloat_FromDouble(double)
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    PyObject* PyUnicode_New(Py_ssize_t, uint32_t)
    void* PyUnicode_DATA(PyObject*)
    PyObject* PyUnicode_DecodeLatin1(const char*, Py_ssize_t, const char*)
    PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    PyObject* PyObject_CallOneArg(PyObject*, PyObject*)
    PyObject* PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    int PyList_Append(PyObject*, PyObject*)
    int PyObject_IS_GC(PyObject*)
    void PyObject_GC_Track(PyObject*)
    void PyObject_GC_UnTrack(PyObject*)

cdef extern from "datetime.h":
    PyObject* PyDate_FromDate(int, int, int)
    PyObject* PyTime_FromTime(int, int, int, int)
    PyObject* PyDelta_FromDSU(int, int, int)

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define AIOIFX_REMEMBERS 0
    #else
    #define AIOIFX_REMEMBERS 1
    #endif
    #define AIOIFX_DATETIME_IN(year, month, day, hour, minute, second, micro, zone) \\
        PyDateTimeAPI->DateTime_FromDateAndTime( \\
            year, month, day, hour, minute, second, micro, zone, PyDateTimeAPI->DateTimeType)
    /* A tuple of a subclass, which the cycle collector does not track, with room for its items. */
    static inline PyObject *aioifx_new_row(PyTypeObject *row_type, Py_ssize_t count) {
        PyTupleObject *row = PyObject_GC_NewVar(PyTupleObject, row_type, count);
        if (row != NULL) {
            memset(row->ob_item, 0, count * sizeof(PyObject *));
    #if PY_VERSION_HEX >= 0x030E0000
            row->ob_hash = -1;  /* not known yet */
    #endif
        }
        return (PyObject *)row;
    }
    """
    bint REMEMBERS "AIOIFX_REMEMBERS"
    PyObject* datetime_in "AIOIFX_DATETIME_IN"(int, int, int, int, int, int, int, PyObject*)
    PyObject* new_row "aioifx_new_row"(PyTypeObject*, Py_ssize_t)

import_datetime()


# --- fields ---------------------------------------------------------------------------------------------------------

cdef enum Way:  # how a field is decoded: a Kind, or one of these
    WAY_OF_MOMENT = 20  # DATETIME with a year and an hour: datetime
    WAY_OF_DAY  # YEAR TO DAY: date
    WAY_OF_CLOCK  # from HOUR to MINUTE or further: time
    WAY_OF_SPAN  # INTERVAL without years and months: timedelta
    WAY_OF_PYTHON  # the codec's own function

cdef enum Unit:  # aioifx.sqltypes.Unit
    YEAR = 0
    MONTH = 2
    DAY = 4
    HOUR = 6
    MINUTE = 8
    SECOND = 10
    FRACTION = 12

cdef enum Text:
    LATIN1  # each byte is one character
    UTF8  # with strict errors
    ASCII_FIRST  # a byte below 0x80 at the start of a character is ASCII
    FOREIGN

cdef enum:
    DEFAULT_SCALE = 255  # of DECIMAL(p): the point floats
    WRITTEN_OUT = 32  # most digits of a whole number of DECIMAL(p) without an exponent
    MAX_SPELLED = 448  # more than the characters of any Decimal: sign, 126 digits, point, 254 digits

cdef struct Field:
    int way
    int head  # bytes of the length prefix; 0 for a fixed width
    int64_t width  # of a fixed field
    bint strip  # CHAR: trailing blanks are removed
    int scale  # DECIMAL: digits after the point, or DEFAULT_SCALE
    int highest  # base 100: pairs before the point
    int lead  # INTERVAL: pairs of the first unit
    int first  # DATETIME, INTERVAL: units
    int last
    int fraction  # pairs after the point
    PyObject* decode  # of the codec; the decoder holds a reference
    PyObject* zone  # the same: the tzinfo of datetimes, or None



# --- objects --------------------------------------------------------------------------------------------------------

cdef inline PyObject* none() noexcept:
    Py_INCREF(Py_None)
    return Py_None


# --- numbers --------------------------------------------------------------------------------------------------------

cdef inline PyObject* int8_of(const uint8_t* p) noexcept:
    """Sign, low half, high half of the magnitude."""
    cdef int16_t sign = i16(p)
    cdef uint64_t magnitude = <uint64_t>u32(p + 6) << 32 | u32(p + 2)
    if sign == 1:
        return PyLong_FromUnsignedLongLong(magnitude)
    if sign == 0:
        return none()
    if sign == -1 and not magnitude >> 63:
        return PyLong_FromLongLong(-<int64_t>magnitude)
    return NULL


cdef inline PyObject* single_of(const uint8_t* p) noexcept:
    """All bits set is NULL. Any other NaN is a value, and quiet: the conversion to double makes it so."""
    cdef uint32_t bits = u32(p)
    cdef float value
    if bits == 0xFFFFFFFF:
        return none()
    memcpy(&value, &bits, sizeof(value))
    return PyFloat_FromDouble(value)


cdef inline PyObject* double_of(const uint8_t* p) noexcept:
    cdef uint64_t bits = u64(p)
    cdef double value
    if bits == <uint64_t>0xFFFFFFFFFFFFFFFF:
        return none()
    memcpy(&value, &bits, sizeof(value))
    return PyFloat_FromDouble(value)


cdef inline PyObject* boolean_of(const uint8_t* p, int64_t size) noexcept:
    cdef PyObject* value
    if size != 1:
        return NULL
    if p[0] == c"t" or p[0] == c"T" or p[0] == 1:
        value = Py_True
    elif p[0] == c"f" or p[0] == c"F" or p[0] == 0:
        value = Py_False
    else:
        return NULL
    Py_INCREF(value)
    return value


# --- base 100: DECIMAL, MONEY, DATETIME, INTERVAL -------------------------------------------------------------------

cdef char DIGITS[200]  # pair -> its two digits
for _pair in range(100):
    DIGITS[2 * _pair] = 48 + _pair // 10
    DIGITS[2 * _pair + 1] = 48 + _pair % 10

cdef object _number_from = Context(prec=400, Emax=MAX_EMAX, Emin=MIN_EMIN).create_decimal
cdef PyObject* number_from = <PyObject*>_number_from


cdef enum:
    SHORT = 3  # most pairs of a cached number: zeros, prices, rates
    KNOWN_NUMBERS = 1_024

cdef struct KnownNumber:
    uint64_t key
    PyObject* value

cdef KnownNumber known_numbers[KNOWN_NUMBERS]  # invariant 4


cdef inline uint64_t key_of(const Number* number, int scale) noexcept nogil:
    """The key of a short number in the cache: everything that determines its Decimal."""
    cdef uint64_t key = <uint64_t>scale << 16 | <uint64_t>(number.exponent + 64) << 8 | number.negative
    cdef int index
    for index in range(SHORT):
        key = key << 8 | (number.pairs[index] if index < number.count else 0)
    return key


cdef PyObject* decimal_of(const Field* field, const uint8_t* p) noexcept:
    """A Decimal; short ones are shared. Digits beyond the column's scale need the reference."""
    cdef Number number
    cdef KnownNumber* known
    cdef uint64_t key
    cdef int scale
    cdef PyObject* value
    cdef Unpacked unpacked = unpack(p, field.width, &number)
    if unpacked == NULL_NUMBER:
        return none()
    if unpacked == NOT_A_NUMBER:
        return NULL
    scale = 2 * number.count - 2 * number.exponent
    if number.count and number.pairs[number.count - 1] % 10 == 0:
        scale -= 1
    if field.scale != DEFAULT_SCALE:
        if number.count and scale > field.scale:
            return NULL
        scale = field.scale
    elif not number.count:
        number.exponent = scale = 0
    elif number.exponent >= field.width and 2 * number.exponent > WRITTEN_OUT:
        return NULL
    elif scale < 0:
        scale = 0
    if not REMEMBERS or number.count > SHORT:
        return new_decimal(&number, scale)
    key = key_of(&number, field.scale)
    known = &known_numbers[key * <uint64_t>0x9E3779B97F4A7C15 >> 54]  # mixes all bits of the key
    if known.value == NULL or known.key != key:
        value = new_decimal(&number, scale)
        if value == NULL:
            return NULL
        if known.value != NULL:
            Py_DECREF(known.value)
        known.key = key
        known.value = value
    Py_INCREF(known.value)
    return known.value


cdef enum:
    LONG_PAIRS = 9  # most pairs of a number that fits 64 bits


cdef inline PyObject* integral_of(const Field* field, const uint8_t* p) noexcept:
    """A DECIMAL of scale 0 as int. Long ones are decoded in Python; digits after the point need the reference."""
    cdef Number number
    cdef int64_t amount = 0
    cdef int index
    cdef Unpacked unpacked = unpack(p, field.width, &number)
    if unpacked == NULL_NUMBER:
        return none()
    if unpacked == NOT_A_NUMBER or (number.count and number.count > number.exponent):
        return NULL
    if number.count and number.exponent > LONG_PAIRS:
        return by_python(field.decode, p, field.width)
    for index in range(number.exponent if number.count else 0):
        amount = amount * 100 + (number.pairs[index] if index < number.count else 0)
    return PyLong_FromLongLong(-amount if number.negative else amount)


cdef PyObject* new_decimal(const Number* number, int scale) noexcept:
    """A Decimal, from its text; *scale* is the number of digits after the point."""
    cdef char text[MAX_SPELLED]
    cdef char* to = text
    cdef int index, place
    if number.negative:
        to[0] = c"-"
        to += 1
    if number.exponent <= 0:
        to[0] = c"0"
        to += 1
    for index in range(number.exponent):
        memcpy(to, DIGITS + 2 * (number.pairs[index] if index < number.count else 0), 2)
        to += 2
    if scale:
        to[0] = c"."
        to += 1
        for index in range((scale + 1) // 2):
            place = number.exponent + index
            memcpy(to, DIGITS + 2 * (number.pairs[place] if 0 <= place < number.count else 0), 2)
            to += 2
        to -= scale & 1
    return decimal_from(text, to - text)


cdef inline PyObject* decimal_from(const char* text, Py_ssize_t size) noexcept:
    cdef PyObject* spelt = PyUnicode_New(size, 127)
    cdef PyObject* value
    if spelt == NULL:
        return NULL
    memcpy(PyUnicode_DATA(spelt), text, size)
    value = PyObject_CallOneArg(number_from, spelt)
    Py_DECREF(spelt)
    if value != NULL and PyObject_IS_GC(value):  # Decimals are tracked since 3.13; see Decoder._new_row
        PyObject_GC_UnTrack(value)
    return value


cdef inline Unpacked spread(const Field* field, const uint8_t* p, bint* negative, uint8_t* pairs) noexcept nogil:
    """Write all pairs of a qualifier, including zeros that the sender left out, to *pairs*, which holds MAX_PAIRS."""
    cdef Number number
    cdef int lead
    cdef Unpacked unpacked = unpack(p, field.width, &number)
    if unpacked != IS_NUMBER:
        return unpacked
    lead = field.highest - number.exponent
    if number.count and (lead < 0 or lead + number.count > field.width - 1):
        return NOT_A_NUMBER
    memset(pairs, 0, MAX_PAIRS)
    if number.count:
        memcpy(pairs + lead, number.pairs, number.count)
    negative[0] = number.negative
    return IS_NUMBER


cdef inline int microseconds(const uint8_t* pairs, int count) noexcept nogil:
    cdef int value = 0
    if count > 0:
        value = pairs[0] * 10_000
    if count > 1:
        value += pairs[1] * 100
    if count > 2:
        value += pairs[2]
    return value


cdef PyObject* moment_of(const Field* field, const uint8_t* p) noexcept:
    """DATETIME; an invalid date or time raises ValueError, on which the caller falls back to the reference."""
    cdef uint8_t pairs[MAX_PAIRS]
    cdef bint negative = False
    cdef Unpacked unpacked = spread(field, p, &negative, pairs)
    if unpacked == NULL_NUMBER:
        return none()
    if unpacked == NOT_A_NUMBER or negative:
        return NULL
    if field.way == WAY_OF_CLOCK:
        return PyTime_FromTime(pairs[0], pairs[1], pairs[2], microseconds(pairs + 3, field.fraction))
    if field.way == WAY_OF_DAY:
        return PyDate_FromDate(pairs[0] * 100 + pairs[1], pairs[2], pairs[3])
    return datetime_in(
        pairs[0] * 100 + pairs[1], pairs[2], pairs[3], pairs[4], pairs[5], pairs[6],
        microseconds(pairs + 7, field.fraction), field.zone
    )


cdef inline int64_t seconds_in(int unit) noexcept nogil:
    if unit == DAY:
        return 86_400
    if unit == HOUR:
        return 3_600
    return 60 if unit == MINUTE else 1


cdef PyObject* span_of(const Field* field, const uint8_t* p) noexcept:
    """INTERVAL in seconds and microseconds; 64 bits suffice for 10**10 of its first unit."""
    cdef uint8_t pairs[MAX_PAIRS]
    cdef bint negative = False
    cdef int64_t amount = 0, total, days
    cdef int index, unit, micro, place = field.lead
    cdef Unpacked unpacked = spread(field, p, &negative, pairs)
    if unpacked == NULL_NUMBER:
        return none()
    if unpacked == NOT_A_NUMBER:
        return NULL
    for index in range(field.lead):
        amount = amount * 100 + pairs[index]
    total = amount * seconds_in(field.first)
    for unit in range(field.first + 2, min(field.last, <int>SECOND) + 1, 2):
        total += pairs[place] * seconds_in(unit)
        place += 1
    micro = microseconds(pairs + place, field.fraction)
    if negative:
        total = -total
        if micro:
            total -= 1
            micro = 1_000_000 - micro
    days = total // 86_400 if total >= 0 else -((86_399 - total) // 86_400)
    if not -999_999_999 <= days <= 999_999_999:
        return NULL
    return PyDelta_FromDSU(<int>days, <int>(total - days * 86_400), micro)


# --- DATE -----------------------------------------------------------------------------------------------------------

cdef enum:
    NULL_DAY = -2_147_483_648
    KNOWN_DAYS = 4_096

cdef struct KnownDay:
    int32_t day
    PyObject* date

cdef KnownDay known_days[KNOWN_DAYS]  # eleven years, a slot for each day; invariant 4

cdef int BEFORE_MONTH[13]  # days before each month in a year that begins with March
BEFORE_MONTH[:] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337, 367]


cdef PyObject* date_of(int32_t day) noexcept:
    """The date of a day number; rows share the immutable object."""
    cdef KnownDay* known = &known_days[day & (KNOWN_DAYS - 1)]
    cdef PyObject* date
    if day == NULL_DAY:
        return none()
    if REMEMBERS and known.date != NULL and known.day == day:
        Py_INCREF(known.date)
        return known.date
    if not FIRST_DAY <= day <= LAST_DAY:
        return NULL
    date = new_date(day)
    if REMEMBERS and date != NULL:
        Py_INCREF(date)
        if known.date != NULL:
            Py_DECREF(known.date)
        known.day = day
        known.date = date
    return date


cdef PyObject* new_date(int32_t day) noexcept:
    """A new date for a day number. Years are counted from March, so that a leap day is the last day."""
    cdef int rest = day - FIRST_DAY + 306  # days since 0000-03-01
    cdef int year = rest // 146_097 * 400
    cdef int centuries, fours, ones, month
    rest %= 146_097
    centuries = min(rest // 36_524, 3)
    rest -= centuries * 36_524
    fours = rest // 1_461
    rest -= fours * 1_461
    ones = min(rest // 365, 3)
    rest -= ones * 365
    year += centuries * 100 + fours * 4 + ones
    month = rest // 31
    if rest >= BEFORE_MONTH[month + 1]:
        month += 1
    return PyDate_FromDate(
        year + (month > 9), month + 3 if month < 10 else month - 9, rest - BEFORE_MONTH[month] + 1
    )


# --- text -----------------------------------------------------------------------------------------------------------

cdef inline PyObject* ascii_of(const uint8_t* p, int64_t size) noexcept:
    cdef PyObject* text
    if size < 2:  # those are shared
        return PyUnicode_DecodeLatin1(<const char*>p, <Py_ssize_t>size, NULL)
    text = PyUnicode_New(<Py_ssize_t>size, 127)
    if text != NULL:
        memcpy(PyUnicode_DATA(text), p, size)
    return text


cdef inline PyObject* by_python(PyObject* decode, const uint8_t* p, int64_t size) noexcept:
    """A field decoded by a function of Python, which gets a copy."""
    cdef PyObject* data = PyBytes_FromStringAndSize(<const char*>p, <Py_ssize_t>size)
    cdef PyObject* value
    if data == NULL:
        return NULL
    value = PyObject_CallOneArg(decode, data)
    Py_DECREF(data)
    return value


# --- decoding -------------------------------------------------------------------------------------------------------

@cython.final
cdef class Decoder:
    """Decodes the rows of one shape; `run` is a DecodeRun of aioifx.codecs.row_codegen."""

    cdef Field* fields
    cdef Py_ssize_t count
    cdef int64_t least  # minimum size of a row: its variable fields are empty
    cdef Text text
    cdef object in_code_set
    cdef object fallback_errors
    cdef object row_type
    cdef tuple decoders  # what Field.decode points to
    cdef tuple zones  # the same for Field.zone
    cdef bint plain  # rows are tuples and no subclass

    def __cinit__(self, codecs, code_set, row_type, fallback_errors):
        self.fields = NULL
        _check_row_type(row_type)
        self.row_type = row_type
        self.plain = row_type is tuple
        self.fallback_errors = fallback_errors
        self.in_code_set = code_set.decode
        self.text = _text_of(code_set)
        self.decoders = tuple([codec.decode for codec in codecs])
        self.zones = tuple([codec.zone for codec in codecs])
        self.count = len(self.decoders)
        self.least = 0
        self.fields = <Field*>PyMem_Calloc(self.count + 1, sizeof(Field))
        if self.fields == NULL:
            raise MemoryError
        for index, codec in enumerate(codecs):
            _plan(&self.fields[index], codec)
            self.fields[index].decode = <PyObject*>self.decoders[index]
            self.fields[index].zone = <PyObject*>self.zones[index]
            self.least += self.fields[index].width

    def __dealloc__(self):
        PyMem_Free(self.fields)

    def run(self, data, Py_ssize_t pos, Py_ssize_t end, list rows not None):
        """Decode whole SQ_TUPLE messages from *pos* on; returns the position after the last one."""
        cdef Py_buffer buffer
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            if pos < 0 or pos > buffer.len:
                raise ValueError("position outside the buffer")
            return self._run(<const uint8_t*>buffer.buf, pos, min(end, buffer.len), <PyObject*>rows)
        finally:
            PyBuffer_Release(&buffer)

    cdef Py_ssize_t _run(self, const uint8_t* data, Py_ssize_t pos, Py_ssize_t end, PyObject* rows) except -1:
        cdef int64_t size
        cdef PyObject* row
        cdef int failed
        while end - pos >= TUPLE_HEAD:
            size = i32(data + pos + 4)
            if i16(data + pos) != TUPLE or size < self.least or size + (size & 1) > end - pos - TUPLE_HEAD:
                break
            row = self._row(data + pos + TUPLE_HEAD, size - self.least)
            if row == NULL:
                if PyErr_Occurred() != NULL:
                    if not PyErr_ExceptionMatches(<PyObject*>self.fallback_errors):
                        return -1
                    PyErr_Clear()
                break
            failed = PyList_Append(rows, row)
            Py_DECREF(row)
            if failed:
                return -1
            pos += TUPLE_HEAD + <Py_ssize_t>(size + (size & 1))
        return pos

    cdef inline PyObject* _new_row(self) noexcept:
        """A new row that the cycle collector does not track.

        Values are scalars, which refer only to their class. So a row cannot be part of a cycle, and visiting 100,000
        of them would waste time. A Python function may return a value that can be part of a cycle; then `_row`
        starts to track the row.
        """
        cdef PyObject* row
        if not self.plain:
            return new_row(<PyTypeObject*><PyObject*>self.row_type, self.count)
        row = PyTuple_New(self.count)
        if row != NULL:
            PyObject_GC_UnTrack(row)
        return row

    cdef PyObject* _row(self, const uint8_t* p, int64_t spare) noexcept:
        """A row from its payload; *spare* is the number of bytes beyond self.least."""
        cdef PyObject* row = self._new_row()
        cdef PyObject* value
        cdef const Field* field
        cdef Py_ssize_t index
        cdef int64_t size
        cdef bint visible = False
        if row == NULL:
            return NULL
        for index in range(self.count):
            field = &self.fields[index]
            value = NULL
            size = 0
            if field.head:
                size = p[0] if field.head == VARCHAR_HEAD else <int64_t>u32(p + 1)
                if size > spare:
                    break
                spare -= size
            if field.way == INTEGER:
                if i32(p) == NULL_DAY:
                    value = none()
                else:
                    value = PyLong_FromLong(i32(p))
            elif field.way == BIGINT:
                if u64(p) == <uint64_t>1 << 63:
                    value = none()
                else:
                    value = PyLong_FromLongLong(<int64_t>u64(p))
            elif field.way == VARCHAR:
                if size == 1 and not p[VARCHAR_HEAD]:
                    value = none()
                else:
                    value = self._text(p + VARCHAR_HEAD, size)
            elif field.way == FLOAT:
                value = double_of(p)
            elif field.way == DATE:
                value = date_of(i32(p))
            elif field.way == CHAR:
                value = self._char(field, p)
            elif field.way == DECIMAL:
                value = decimal_of(field, p)
            elif field.way == INTEGRAL:
                value = integral_of(field, p)
            elif field.way == WAY_OF_MOMENT or field.way == WAY_OF_DAY or field.way == WAY_OF_CLOCK:
                value = moment_of(field, p)
            elif field.way == SMALLINT:
                if i16(p) == -32_768:
                    value = none()
                else:
                    value = PyLong_FromLong(i16(p))
            elif field.way == LVARCHAR:
                value = none() if p[0] else self._text(p + ENVELOPE_HEAD, size)
            elif field.way == BOOLEAN:
                value = none() if p[0] else boolean_of(p + ENVELOPE_HEAD, size)
            elif field.way == INT8:
                value = int8_of(p)
            elif field.way == SMALLFLOAT:
                value = single_of(p)
            elif field.way == WAY_OF_SPAN:
                value = span_of(field, p)
            else:
                value = by_python(field.decode, p, field.width + size)
                if value != NULL and PyObject_IS_GC(value):
                    visible = True
            if value == NULL:
                break
            PyTuple_SET_ITEM(row, index, value)
            p += field.width + size
        else:
            if not spare:
                if visible:
                    PyObject_GC_Track(row)
                return row
        Py_DECREF(row)
        return NULL

    cdef inline PyObject* _text(self, const uint8_t* p, int64_t size) noexcept:
        if self.text != FOREIGN and is_ascii(p, size):
            return ascii_of(p, size)
        if self.text == LATIN1:
            return PyUnicode_DecodeLatin1(<const char*>p, <Py_ssize_t>size, NULL)
        if self.text == UTF8:
            return PyUnicode_DecodeUTF8(<const char*>p, <Py_ssize_t>size, NULL)
        return by_python(<PyObject*>self.in_code_set, p, size)

    cdef inline PyObject* _char(self, const Field* field, const uint8_t* p) noexcept:
        """CHAR: NULL begins with NUL. A blank is the byte 0x20, except in FOREIGN code sets."""
        cdef int64_t size = field.width
        if size and not p[0]:
            return none()
        if self.text == FOREIGN or (self.text == ASCII_FIRST and not is_ascii(p, size)):
            return by_python(field.decode, p, size)
        if field.strip:
            while size and p[size - 1] == c" ":
                size -= 1
        return self._text(p, size)


# --- planning -------------------------------------------------------------------------------------------------------

cdef Text _text_of(code_set) except *:
    if code_set.codec == "latin-1":
        return LATIN1
    if code_set.codec == "utf-8" and code_set.errors == "strict":
        return UTF8
    return ASCII_FIRST if code_set.keeps_ascii else FOREIGN


cdef int _check_row_type(row_type) except -1:
    """Raise TypeError if the class adds anything but methods to tuple, since it is not called to create rows."""
    cdef PyTypeObject* made
    if not isinstance(row_type, type) or not issubclass(row_type, tuple):
        raise TypeError("a row's class must be tuple or a subclass")
    made = <PyTypeObject*><PyObject*>row_type
    if (
        made.tp_basicsize != PyTuple_Type.tp_basicsize
        or made.tp_itemsize != PyTuple_Type.tp_itemsize
        or made.tp_dictoffset
        or made.tp_new != PyTuple_Type.tp_new
        or made.tp_init != PyBaseObject_Type.tp_init
    ):
        raise TypeError("a row's class must not add anything to tuple but methods")
    return 0


cdef int _plan(Field* field, codec) except -1:
    """Fill in *field* for `_row`. A field of an unexpected width is decoded in Python."""
    cdef int kind = codec.kind
    field.head = codec.head
    field.width = codec.head or codec.width
    field.way = WAY_OF_PYTHON
    if field.head not in (0, VARCHAR_HEAD, ENVELOPE_HEAD) or field.width < 0:
        raise ValueError("a field of an unknown form")
    if kind in (SMALLINT, INTEGER, BIGINT, INT8, SMALLFLOAT, FLOAT, DATE):
        if not field.head and field.width == (0, 2, 4, 8, 10, 4, 8, 0, 4)[kind]:
            field.way = kind
    elif kind == CHAR:
        if not field.head:
            field.way = CHAR
            field.strip = codec.detail
    elif kind == VARCHAR:
        if field.head == VARCHAR_HEAD:
            field.way = VARCHAR
    elif kind in (LVARCHAR, BOOLEAN):
        if field.head == ENVELOPE_HEAD:
            field.way = kind
    elif kind in (DECIMAL, INTEGRAL, DATETIME, INTERVAL):
        if not field.head and 2 <= field.width <= MAX_PAIRS + 1:
            if kind == DECIMAL or kind == INTEGRAL:
                field.scale = codec.detail & 0xFF
                field.way = kind
            else:
                _plan_qualified(field, kind, codec.detail)
    return 0


cdef int _plan_qualified(Field* field, int kind, int encoded) except -1:
    """DATETIME and INTERVAL: fill in the positions of pairs from an encoded qualifier."""
    cdef int digits = encoded >> 8, first = encoded >> 4 & 0xF, last = encoded & 0xF
    cdef int leading, whole
    field.first = first
    field.last = last if last <= SECOND else FRACTION
    field.fraction = (last - SECOND + 1) // 2 if last > SECOND else 0
    leading = digits - (last - first)  # digits of the first unit, unless that is FRACTION
    if first == FRACTION or first % 2 or leading < 1:
        return 0
    field.lead = (leading + 1) // 2
    whole = min(field.last, <int>SECOND)
    # Pairs before the point: those of the first unit, and one for each further unit down to SECOND.
    field.highest = field.lead + (SECOND - first) // 2
    if field.width - 1 != field.lead + (whole - first) // 2 + field.fraction:
        return 0
    if kind == INTERVAL:
        if first >= DAY and leading <= 9:
            field.way = WAY_OF_SPAN
    elif first == YEAR and field.last >= HOUR and field.lead == 2:
        field.way = WAY_OF_MOMENT
    elif first == YEAR and field.last == DAY and field.lead == 2:
        field.way = WAY_OF_DAY
    elif first == HOUR and field.last >= MINUTE and field.lead == 1:
        field.way = WAY_OF_CLOCK
    return 0
