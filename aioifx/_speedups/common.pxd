# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
# Declarations and functions that the native modules share. They cover constants of the protocol, DATE's calendar,
# base-100 numbers, big-endian integers, text and a growing buffer. Never: Python objects except rows; aioifx's modules.

from cpython.mem cimport PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    /* Tuples, and subclasses such as Record that iterate and count as tuples do. */
    static inline int aioifx_is_tuple(PyObject *row) {
        return PyTuple_CheckExact(row) || (
            PyTuple_Check(row) && Py_TYPE(row)->tp_iter == PyTuple_Type.tp_iter && Py_TYPE(row)->tp_as_sequence != NULL
            && Py_TYPE(row)->tp_as_sequence->sq_length == PyTuple_Type.tp_as_sequence->sq_length);
    }
    """
    bint is_tuple "aioifx_is_tuple"(object row) noexcept


# --- constants, as in the Python modules ----------------------------------------------------------------------------

cdef enum Kind:  # aioifx.codecs.base.Kind
    OTHER = 0
    SMALLINT = 1
    INTEGER = 2
    BIGINT = 3
    INT8 = 4
    SMALLFLOAT = 5
    FLOAT = 6
    DECIMAL = 7
    DATE = 8
    DATETIME = 9
    INTERVAL = 10
    BOOLEAN = 11
    CHAR = 12
    VARCHAR = 13
    LVARCHAR = 14
    INTEGRAL = 15

cdef enum Op:  # aioifx.wire.opcodes.Op
    CLOSE = 10
    EOT = 12
    TUPLE = 14
    DONE = 15
    COST = 55
    INSERTDONE = 94
    XACTSTAT = 99

cdef enum:
    TUPLE_HEAD = 8  # aioifx.codecs.tuple_frames.TUPLE_HEAD
    VARCHAR_HEAD = 1  # aioifx.codecs.base.VARCHAR_HEAD
    ENVELOPE_HEAD = 5  # aioifx.codecs.base.ENVELOPE_HEAD
    MAX_TEXT = 67_108_864  # aioifx.wire.opcodes.MAX_TEXT
    DAY_ZERO = 693_595  # aioifx.codecs.temporal.DAY_ZERO
    FIRST_DAY = -693_594  # aioifx.codecs.temporal.FIRST_DAY
    LAST_DAY = 2_958_464  # aioifx.codecs.temporal.LAST_DAY
    MAX_PAIRS = 20  # longest base-100 field that native code decodes; Python decodes wider ones


# --- reading --------------------------------------------------------------------------------------------------------

cdef inline uint16_t u16(const uint8_t* p) noexcept nogil:
    return <uint16_t>(<uint16_t>p[0] << 8 | p[1])


cdef inline int16_t i16(const uint8_t* p) noexcept nogil:
    return <int16_t>u16(p)


cdef inline uint32_t u32(const uint8_t* p) noexcept nogil:
    return <uint32_t>p[0] << 24 | <uint32_t>p[1] << 16 | <uint32_t>p[2] << 8 | <uint32_t>p[3]


cdef inline int32_t i32(const uint8_t* p) noexcept nogil:
    return <int32_t>u32(p)


cdef inline uint64_t u64(const uint8_t* p) noexcept nogil:
    return <uint64_t>u32(p) << 32 | u32(p + 4)


cdef inline int64_t i64(const uint8_t* p) noexcept nogil:
    return <int64_t>u64(p)


cdef inline bint is_ascii(const uint8_t* p, int64_t size) noexcept nogil:
    cdef uint64_t word, found = 0
    cdef int64_t place
    if size < 8:
        for place in range(size):
            found |= p[place]
    else:
        for place in range(0, size - 7, 8):
            memcpy(&word, p + place, 8)
            found |= word
        memcpy(&word, p + size - 8, 8)  # the last ones overlap those before
        found |= word
    return not found & <uint64_t>0x8080808080808080


# --- base 100 -------------------------------------------------------------------------------------------------------

cdef struct Number:  # 0.<pairs> * 100 ** exponent
    bint negative
    int exponent
    int count  # pairs, without zeros at the end
    uint8_t[MAX_PAIRS] pairs

cdef enum Unpacked:
    NOT_A_NUMBER
    NULL_NUMBER
    IS_NUMBER


cdef inline Unpacked unpack(const uint8_t* field, int64_t width, Number* number) noexcept nogil:
    """Decode a field of *width* bytes, 1 to MAX_PAIRS + 1, like aioifx.codecs.base100.unpack."""
    cdef int count = <int>width - 1
    cdef int head = field[0]
    cdef int place
    while count and not field[count]:
        count -= 1
    number.count = count
    number.negative = not head & 0x80
    if not number.negative:
        number.exponent = head - 0xC0
        for place in range(count):
            number.pairs[place] = field[1 + place]
            if field[1 + place] > 99:
                return NOT_A_NUMBER
        return IS_NUMBER
    if not count:
        return NOT_A_NUMBER if head else NULL_NUMBER
    number.exponent = (head ^ 0x7F) - 64
    for place in range(count):
        if field[1 + place] > 99:
            return NOT_A_NUMBER
        number.pairs[place] = 99 - field[1 + place]
    number.pairs[count - 1] += 1
    return IS_NUMBER


# --- DATE -----------------------------------------------------------------------------------------------------------

cdef inline int64_t day_number(int year, int month, int day) noexcept nogil:
    """Days from 1899-12-31, DATE's day 0, to a valid date."""
    # Years are counted from March, so that a leap day is the last day. 0001-01-01 is day 306 of the year 0.
    cdef int64_t years = year - (month <= 2)
    cdef int months = month + (9 if month <= 2 else -3)
    return (
        years * 365 + years // 4 - years // 100 + years // 400
        + (153 * months + 2) // 5 + day - 306 - <int64_t>DAY_ZERO
    )


# --- writing --------------------------------------------------------------------------------------------------------

cdef inline void store_u16(uint8_t* at, uint64_t number) noexcept nogil:
    at[0], at[1] = <uint8_t>(number >> 8), <uint8_t>number


cdef inline void store_u32(uint8_t* at, uint64_t number) noexcept nogil:
    # Compilers reduce shifts by constants to one instruction.
    at[0], at[1] = <uint8_t>(number >> 24), <uint8_t>(number >> 16)
    at[2], at[3] = <uint8_t>(number >> 8), <uint8_t>number


cdef inline void store_u64(uint8_t* at, uint64_t number) noexcept nogil:
    store_u32(at, number >> 32)
    store_u32(at + 4, number)


cdef struct Buffer:
    uint8_t* data
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
        buffer.data = <uint8_t*>data
        buffer.room = room
    return 0


cdef inline void put(Buffer* buffer, const char* data, Py_ssize_t size) noexcept nogil:
    memcpy(buffer.data + buffer.used, data, size)
    buffer.used += size


cdef inline void put_byte(Buffer* buffer, int value) noexcept nogil:
    buffer.data[buffer.used] = <uint8_t>value
    buffer.used += 1


cdef inline void put_u16(Buffer* buffer, uint64_t number) noexcept nogil:
    store_u16(buffer.data + buffer.used, number)
    buffer.used += 2


cdef inline void put_u32(Buffer* buffer, uint64_t number) noexcept nogil:
    store_u32(buffer.data + buffer.used, number)
    buffer.used += 4


cdef inline void put_u64(Buffer* buffer, uint64_t number) noexcept nogil:
    store_u64(buffer.data + buffer.used, number)
    buffer.used += 8
