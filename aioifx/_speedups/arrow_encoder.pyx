# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
# cython: freethreading_compatible=True
"""Native encoder of rows from Arrow's columns, by the plans of `aioifx.codecs.arrow_plan`. Never: texts of errors.

Invariants:
1. Native code never reports errors. It stops at a row that it does not handle, which the row's encoder then encodes or
   rejects as a tuple.
2. Only buffers that the plan names are read, at the rows that the caller names; the caller keeps them alive.
3. Rows are encoded into a private buffer. Only complete rows are copied into the caller's buffer.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isinf
from libc.stdint cimport INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from aioifx._speedups.common cimport (
    Buffer, DAY_ZERO, FIRST_DAY, LAST_DAY, MAX_TEXT, is_ascii, put, put_byte, put_u16, put_u32, put_u64, reserve,
    store_u32,
)

cdef extern from "Python.h":
    bytes PyUnicode_AsEncodedString(object text, const char* encoding, const char* errors)

cdef enum:  # aioifx.codecs.arrow_plan.Source
    SIGNED_1, SIGNED_2, SIGNED_4, SIGNED_8, UNSIGNED_1, UNSIGNED_2, UNSIGNED_4, UNSIGNED_8, WIDE, SINGLE, DOUBLE, BIT
    TEXT_4, TEXT_8, VIEW, ENTRY

cdef enum:  # aioifx.codecs.arrow_plan.WireForm
    BY_ENTRY, INTEGER, SPLIT, WHOLE, FLOAT, SMALLFLOAT, DAY, MOMENT, CLOCK, DECIMAL_FIELD, DECIMAL_PARAM, TRUTH
    CHAR_FIELD, VARCHAR_FIELD, LVARCHAR_FIELD, SHORT_PARAM, LONG_PARAM

cdef enum:
    UNIX_DAY = 719_163  # the ordinal of 1970-01-01
    INLINE_VIEW = 12  # longest value that a view holds itself
    MAX_DIGITS = 24
    FIXED_ROOM = 64  # bytes of the longest value of fixed width


cdef int64_t DAY_MICROSECONDS = 86_400_000_000
cdef int64_t FIRST_MICROSECOND = -62_135_596_800_000_000  # of the year 1, since 1970
cdef int64_t LAST_MICROSECOND = 253_402_300_799_999_999  # of the year 9999


cdef struct Plan:  # how the values of a column are written
    int form
    Py_ssize_t width  # bytes of a field or integer; of a MOMENT or CLOCK, its bytes without pad
    int64_t limit  # greatest number or size; of a MOMENT or CLOCK, microseconds of its step
    int scale  # digits after the point of the source's decimals
    bint pads  # a MOMENT or CLOCK of a parameter; a DECIMAL_PARAM with its scale; a DECIMAL_FIELD whose point floats
    bint refuses_nul
    const char* head
    Py_ssize_t head_size
    const char* other
    Py_ssize_t other_size
    const char* null
    Py_ssize_t null_size


cdef struct Reading:  # where the values of a column are read in one batch
    int source
    const uint8_t* validity
    int64_t offset
    const uint8_t* values
    const uint8_t* data
    const uint64_t* buffers
    int64_t buffer_count
    int64_t times
    int64_t parts
    PyObject* entries
    PyObject* fill


cdef inline bint is_bit(const uint8_t* bits, int64_t at) noexcept nogil:
    return bits[at >> 3] >> (at & 7) & 1


cdef inline int64_t load_8(const uint8_t* values, int64_t at) noexcept nogil:
    """Item *at* of a buffer, which need not be aligned; so are the others."""
    cdef int64_t number
    memcpy(&number, values + 8 * at, 8)
    return number


cdef inline int32_t load_4(const uint8_t* values, int64_t at) noexcept nogil:
    cdef int32_t number
    memcpy(&number, values + 4 * at, 4)
    return number


cdef inline int16_t load_2(const uint8_t* values, int64_t at) noexcept nogil:
    cdef int16_t number
    memcpy(&number, values + 2 * at, 2)
    return number


cdef inline bint is_inside(const Reading* reading, const int32_t* view) noexcept nogil:
    """Whether a view is inside one of its buffers."""
    if not 0 <= view[2] < reading.buffer_count or not reading.buffers[view[2]]:
        return False
    return 0 <= view[3] <= load_8(reading.data, view[2]) - view[0]


cdef inline bint read_number(const Reading* reading, int64_t at, int64_t* number) noexcept nogil:
    """Read an integer; False if it needs more than 64 bits."""
    cdef const uint8_t* values = reading.values
    cdef int source = reading.source
    if source == SIGNED_4:
        number[0] = load_4(values, at)
    elif source == SIGNED_8:
        number[0] = load_8(values, at)
    elif source == SIGNED_2:
        number[0] = load_2(values, at)
    elif source == SIGNED_1:
        number[0] = <int8_t>values[at]
    elif source == UNSIGNED_4:
        number[0] = <uint32_t>load_4(values, at)
    elif source == UNSIGNED_8:
        number[0] = load_8(values, at)
        return number[0] >= 0
    elif source == UNSIGNED_2:
        number[0] = <uint16_t>load_2(values, at)
    elif source == UNSIGNED_1:
        number[0] = values[at]
    elif source == WIDE:  # little-endian: the plan leaves the source out elsewhere
        number[0] = load_8(values, 2 * at)
        return load_8(values, 2 * at + 1) == (-1 if number[0] < 0 else 0)
    else:
        return False
    return True


cdef inline bint to_microseconds(const Reading* reading, int64_t* value) noexcept nogil:
    """Convert a unit of time, cut to microseconds; False if they do not fit."""
    if not -INT64_MAX // reading.times <= value[0] <= INT64_MAX // reading.times:
        return False
    value[0] *= reading.times
    value[0] = value[0] // reading.parts - (value[0] % reading.parts < 0)
    return True


cdef inline void put_time(Buffer* buffer, const Plan* plan, uint8_t* pairs, int head, int64_t micro) noexcept nogil:
    """Write the pairs of a date, if there are any, and a time of day, which has *micro* microseconds.

    Args:
        pairs: those of the date, and room for 6 more.
        head: the number of pairs before the point.
    """
    cdef int place, count = <int>plan.width - 1, lead = 0
    cdef int second = <int>(micro // 1_000_000)
    cdef uint8_t* at = pairs + head - 3
    micro %= 1_000_000
    micro -= micro % plan.limit
    at[0], at[1], at[2] = <uint8_t>(second // 3600), <uint8_t>(second // 60 % 60), <uint8_t>(second % 60)
    at[3], at[4], at[5] = <uint8_t>(micro // 10_000), <uint8_t>(micro // 100 % 100), <uint8_t>(micro % 100)
    if not plan.pads:  # a field has no leading zeros
        while lead < count and not pairs[lead]:
            lead += 1
    put_byte(buffer, 0x80 if lead == count else 0xC0 + head - lead)
    put(buffer, <const char*>pairs + lead, count - lead)
    for place in range(lead):
        put_byte(buffer, 0)
    if plan.pads and plan.width & 1:
        put_byte(buffer, 0)


cdef inline bint put_clock(Buffer* buffer, const Plan* plan, const Reading* reading, int64_t value) noexcept nogil:
    """Write a time of day; False if the reference must encode it."""
    cdef uint8_t[8] pairs
    if not to_microseconds(reading, &value) or not 0 <= value < DAY_MICROSECONDS:
        return False
    if plan.pads and value % 1_000_000:  # another qualifier
        return False
    put_time(buffer, plan, pairs, 3, value)
    return True


cdef inline bint put_moment(Buffer* buffer, const Plan* plan, const Reading* reading, int64_t micro) noexcept nogil:
    """Write a date and a time of day; False if the reference must encode it."""
    cdef int64_t days, rest, era, day_of_era, year_of_era, day_of_year, month_of_year
    cdef int year, month, day
    cdef uint8_t[12] pairs
    if not to_microseconds(reading, &micro) or not FIRST_MICROSECOND <= micro <= LAST_MICROSECOND:
        return False
    rest = micro % DAY_MICROSECONDS
    rest += DAY_MICROSECONDS if rest < 0 else 0
    days = (micro - rest) // DAY_MICROSECONDS + UNIX_DAY - DAY_ZERO
    # The calendar from 0000-03-01 on, so that a leap day is the last of its year.
    days += DAY_ZERO + 305
    era = days // 146_097
    day_of_era = days - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_of_year = (5 * day_of_year + 2) // 153
    day = <int>(day_of_year - (153 * month_of_year + 2) // 5 + 1)
    month = <int>(month_of_year + (3 if month_of_year < 10 else -9))
    year = <int>(year_of_era + era * 400 + (month <= 2))
    pairs[0], pairs[1], pairs[2], pairs[3] = <uint8_t>(year // 100), <uint8_t>(year % 100), <uint8_t>month, <uint8_t>day
    put_time(buffer, plan, pairs, 7, rest)
    return True


cdef inline bint put_decimal(Buffer* buffer, const Plan* plan, int64_t number) noexcept nogil:
    """Write a number in base 100; False if the reference must encode it."""
    cdef uint8_t[MAX_DIGITS] pairs
    cdef int first = MAX_DIGITS, count, highest, place, last
    cdef bint negative = number < 0
    cdef uint64_t significant
    cdef uint64_t rest = 0 - <uint64_t>number if negative else <uint64_t>number
    if rest > <uint64_t>plan.limit:
        significant = rest
        while plan.form == DECIMAL_FIELD and plan.pads and significant % 10 == 0:
            significant //= 10
        if significant > <uint64_t>plan.limit:
            return False
    if plan.scale & 1 and rest:  # an even number of digits after the point
        first -= 1
        pairs[first] = <uint8_t>(rest % 10 * 10)
        rest //= 10
    while rest:
        first -= 1
        pairs[first] = <uint8_t>(rest % 100)
        rest //= 100
    count = MAX_DIGITS - first
    highest = count - (plan.scale + 1) // 2
    if plan.form == DECIMAL_FIELD:
        while count and not pairs[first + count - 1]:
            count -= 1
    last = first + count - 1
    while last >= first and not pairs[last]:
        last -= 1
    if last < first:  # zero
        negative, highest, first, count = False, -64, 0, 0
        if plan.form == DECIMAL_PARAM:
            pairs[0], count = 0, 1
    if highest < -64 or highest > 63 or plan.form == DECIMAL_FIELD and 1 + count > plan.width:
        return False
    if negative:
        for place in range(first, last):
            pairs[place] = 99 - pairs[place]
        pairs[last] = 100 - pairs[last]
    if plan.form == DECIMAL_PARAM:
        put_u16(buffer, <uint64_t>(plan.scale if plan.pads and highest != -64 else 0))
        put_u16(buffer, count + 1)
    put_byte(buffer, (highest + 64) ^ 0x7F if negative else (highest + 64) | 0x80)
    put(buffer, <const char*>&pairs[first], count)
    if plan.form == DECIMAL_FIELD:
        memset(buffer.data + buffer.used, 0, plan.width - 1 - count)
        buffer.used += plan.width - 1 - count
    elif not count & 1:
        put_byte(buffer, 0)
    return True


@cython.final
@cython.no_gc_clear
cdef class Encoder:
    """Encodes rows of one kind.

    Args:
        plans: the column plans.
        head: bytes before a row.
        size_at: where the head has the size of the row; -1 if it has none.
        tail: bytes after a row.
        codec: that of the code set.
        errors: its error handler.
    """

    cdef Plan* _plans
    cdef Py_ssize_t _count, _size_at
    cdef list _kept
    cdef bytes _head, _tail, _codec, _errors
    cdef bint _is_utf8

    def __cinit__(
        self, plans, bytes head not None, Py_ssize_t size_at, bytes tail not None, str codec not None,
        str errors not None,
    ):
        cdef Py_ssize_t index
        self._kept = []
        self._head, self._tail, self._size_at = head, tail, size_at
        self._codec, self._errors = codec.encode(), errors.encode()
        self._is_utf8 = codec == "utf-8"
        plans = list(plans)
        self._count = len(plans)
        self._plans = <Plan*>PyMem_Calloc(max(self._count, 1), sizeof(Plan))
        if self._plans == NULL:
            raise MemoryError
        for index, one in enumerate(plans):
            self._fill(&self._plans[index], one)

    def __dealloc__(self):
        PyMem_Free(self._plans)

    cdef int _fill(self, Plan* plan, one) except -1:
        plan.form, plan.width, plan.limit, plan.scale = one.form, one.width, one.limit, one.scale
        plan.pads, plan.refuses_nul = one.pads, one.refuses_nul
        self._kept += (one.head, one.other, one.null)
        plan.head, plan.head_size = PyBytes_AS_STRING(one.head), len(one.head)
        plan.other, plan.other_size = PyBytes_AS_STRING(one.other), len(one.other)
        plan.null, plan.null_size = PyBytes_AS_STRING(one.null), len(one.null)
        return 0

    def run(self, readings, Py_ssize_t first, Py_ssize_t row, Py_ssize_t last, bytearray out not None, Py_ssize_t limit):
        """Append rows until *out* has *limit* bytes.

        Args:
            readings: for each column the fields of an aioifx.codecs.arrow_plan.Reading.
            first: the row of the first entry.
            row: the first row to encode.
            last: the row after the last one.

        Returns:
            The index of the next row; *last* at the end.
        """
        cdef Buffer buffer
        cdef Py_ssize_t before, here = PyByteArray_GET_SIZE(out)
        cdef Reading* found = <Reading*>PyMem_Calloc(max(self._count, 1), sizeof(Reading))
        buffer.used = 0
        buffer.room = 4096
        buffer.data = <uint8_t*>PyMem_Malloc(buffer.room)
        try:
            if buffer.data == NULL or found == NULL:
                raise MemoryError
            kept = [tuple(one) for one in readings]
            if len(kept) != self._count:
                raise ValueError(f"expected {self._count} columns, got {len(kept)}")
            for index, one in enumerate(kept):
                self._locate(&found[<Py_ssize_t>index], one)
            while row < last and here + buffer.used < limit:
                before = buffer.used
                if not self._put_row(&buffer, found, row, first):
                    buffer.used = before
                    break
                row += 1
            PyByteArray_Resize(out, here + buffer.used)
            memcpy(PyByteArray_AS_STRING(out) + here, buffer.data, buffer.used)
        finally:
            PyMem_Free(buffer.data)
            PyMem_Free(found)
        return row

    cdef int _locate(self, Reading* reading, tuple one) except -1:
        source, validity, offset, values, data, buffers, times, parts, entries, fill = one
        reading.source, reading.offset = source, offset
        reading.validity = <const uint8_t*><uint64_t>validity
        reading.values = <const uint8_t*><uint64_t>values
        reading.data = <const uint8_t*><uint64_t>data
        reading.buffers = <const uint64_t*>PyBytes_AS_STRING(buffers)
        reading.buffer_count = PyBytes_GET_SIZE(buffers) // 8
        reading.times, reading.parts = times, parts
        reading.entries = <PyObject*>entries
        reading.fill = <PyObject*>fill
        if type(entries) is not list and entries is not None:
            raise TypeError("entries that are not a list")
        return 0

    cdef bint _put_row(self, Buffer* buffer, const Reading* readings, Py_ssize_t row, Py_ssize_t first) except -1:
        cdef Py_ssize_t index, begin, size, start = buffer.used
        reserve(buffer, PyBytes_GET_SIZE(self._head))
        put(buffer, PyBytes_AS_STRING(self._head), PyBytes_GET_SIZE(self._head))
        begin = buffer.used
        for index in range(self._count):
            if not self._put_value(buffer, &self._plans[index], &readings[index], row, first):
                return False
        size = buffer.used - begin
        if size > MAX_TEXT:
            return False
        reserve(buffer, 1 + PyBytes_GET_SIZE(self._tail))
        if size & 1:
            put_byte(buffer, 0)
        put(buffer, PyBytes_AS_STRING(self._tail), PyBytes_GET_SIZE(self._tail))
        if self._size_at >= 0:
            store_u32(buffer.data + start + self._size_at, size)
        return True

    cdef bint _put_value(
        self, Buffer* buffer, const Plan* plan, const Reading* reading, Py_ssize_t row, Py_ssize_t first
    ) except -1:
        """Write one value; False, perhaps after some bytes, if the reference must encode the row."""
        cdef int64_t at = reading.offset + row, number = 0
        cdef double real
        cdef float single
        cdef uint64_t bits
        cdef uint32_t few
        cdef int form = plan.form
        reserve(buffer, plan.null_size + plan.head_size + plan.other_size + FIXED_ROOM + plan.width)
        if reading.validity != NULL and not is_bit(reading.validity, at):
            put(buffer, plan.null, plan.null_size)
            return True
        if reading.entries != <PyObject*>None:
            if reading.source == ENTRY:
                number = row - first
            elif not read_number(reading, at, &number):
                return False
            return self._put_entry(buffer, reading, number)
        if form >= CHAR_FIELD:
            return self._put_text(buffer, plan, reading, at)
        if form == TRUTH:
            if is_bit(reading.values, at):
                put(buffer, plan.head, plan.head_size)
            else:
                put(buffer, plan.other, plan.other_size)
            return True
        put(buffer, plan.head, plan.head_size)
        if reading.source == SINGLE or reading.source == DOUBLE:
            if reading.source == DOUBLE:
                memcpy(&real, reading.values + 8 * at, 8)
            else:
                memcpy(&single, reading.values + 4 * at, 4)
                real = single
            if real != real:
                return False
            if form == FLOAT:
                memcpy(&bits, &real, 8)
                put_u64(buffer, bits)
                return True
            if form == SMALLFLOAT:
                single = <float>real
                if isinf(single) and not isinf(real):
                    return False
                memcpy(&few, &single, 4)
                put_u32(buffer, few)
                return True
            return False
        if not read_number(reading, at, &number):
            return False
        if form == INTEGER or form == SPLIT:
            if number < -plan.limit or number > plan.limit:
                return False
            if form == SPLIT:
                put_u16(buffer, 0xFFFF if number < 0 else 1)
                number = -number if number < 0 else number
                put_u32(buffer, <uint64_t>number)
                put_u32(buffer, <uint64_t>number >> 32)
            elif plan.width == 4:
                put_u32(buffer, <uint64_t>number)
            elif plan.width == 8:
                put_u64(buffer, <uint64_t>number)
            else:
                put_u16(buffer, <uint64_t>number)
            return True
        if form == DAY:
            number += UNIX_DAY - DAY_ZERO
            if not FIRST_DAY <= number <= LAST_DAY:
                return False
            put_u32(buffer, <uint64_t>number)
            return True
        if form == WHOLE:
            if number < -plan.limit or number > plan.limit:
                return False
            real = <double>number
            memcpy(&bits, &real, 8)
            put_u64(buffer, bits)
            return True
        if form == MOMENT:
            return put_moment(buffer, plan, reading, number)
        if form == CLOCK:
            return put_clock(buffer, plan, reading, number)
        if form == DECIMAL_FIELD or form == DECIMAL_PARAM:
            return put_decimal(buffer, plan, number)
        return False

    cdef bint _put_entry(self, Buffer* buffer, const Reading* reading, int64_t index) except -1:
        """Write a value that is encoded already, or else by *fill*."""
        cdef list entries = <list>reading.entries
        cdef object entry
        if not 0 <= index < len(entries):
            return False
        entry = entries[index]
        if entry is None:
            entry = (<object>reading.fill)(index)
        if type(entry) is not bytes:
            return False
        reserve(buffer, PyBytes_GET_SIZE(entry))
        put(buffer, PyBytes_AS_STRING(entry), PyBytes_GET_SIZE(entry))
        return True

    cdef bint _put_text(self, Buffer* buffer, const Plan* plan, const Reading* reading, int64_t at) except -1:
        cdef const uint8_t* data
        cdef Py_ssize_t size
        cdef int64_t begin, end
        cdef int32_t[4] view
        cdef object text
        cdef bytes encoded = None
        if reading.source == VIEW:
            memcpy(view, reading.values + 16 * at, 16)
            size = view[0]
            if size <= INLINE_VIEW:
                data = reading.values + 16 * at + 4
            elif not is_inside(reading, view):
                return False
            else:
                data = <const uint8_t*>reading.buffers[view[2]] + view[3]
        else:
            if reading.source == TEXT_4:
                begin, end = load_4(reading.values, at), load_4(reading.values, at + 1)
            else:
                begin, end = load_8(reading.values, at), load_8(reading.values, at + 1)
            if begin < 0:
                return False
            data, size = reading.data + begin, end - begin
        if size < 0:
            return False
        if not is_ascii(data, size):
            try:
                text = PyUnicode_DecodeUTF8(<const char*>data, size, NULL)
                if not self._is_utf8:
                    encoded = PyUnicode_AsEncodedString(
                        text, PyBytes_AS_STRING(self._codec), PyBytes_AS_STRING(self._errors)
                    )
            except Exception:
                return False
            if encoded is not None:
                data, size = <const uint8_t*>PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded)
        if size > plan.limit or plan.refuses_nul and size > 0 and data[0] == 0:
            return False
        reserve(buffer, size + FIXED_ROOM + plan.width)
        put(buffer, plan.head, plan.head_size)
        if plan.form == CHAR_FIELD:
            put(buffer, <const char*>data, size)
            memset(buffer.data + buffer.used, c' ', plan.width - size)
            buffer.used += plan.width - size
            return True
        if plan.form == VARCHAR_FIELD:
            if size == 1 and data[0] == 0:
                return False
            put_byte(buffer, <int>size)
        elif plan.form == SHORT_PARAM:
            put_u16(buffer, size)
        else:
            put_u32(buffer, size)
        put(buffer, <const char*>data, size)
        if size & 1 and (plan.form == SHORT_PARAM or plan.form == LONG_PARAM):
            put_byte(buffer, 0)
        return True
