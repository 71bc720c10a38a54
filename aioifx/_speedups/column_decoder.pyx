# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""Native decoder of tuples into growing columns in Arrow's layout. Never: texts of errors.

Invariants:
1. Before a field is read, its size is compared with the rest of its row. Unusual values, and rows whose fields do not
   fill them exactly, need the reference. Nothing of such a row is kept; the caller passes it to the reference.
2. Some rows are decoded at a time, one column of all of them after the other. So the kind of a field is the same for
   many values in turn.
3. All values of a row, NULL included, are written at the row's index. So the next row overwrites an abandoned one.
4. The interpreter lock is held. A block takes about twenty microseconds, while waiting for a busy thread to release
   the lock may take milliseconds.

It is one module because each field's decoder is compiled into the loop over rows. Most of them use this module's tables
or layout of columns. From another module they would be called through pointers.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from aioifx._speedups.common cimport (
    BIGINT, BOOLEAN, CHAR, DATE, DATETIME, DECIMAL, FIRST_DAY, FLOAT, INT8, INTEGER, INTERVAL, IS_NUMBER, LAST_DAY,
    LVARCHAR, MAX_PAIRS, NOT_A_NUMBER, NULL_NUMBER, Number, SMALLFLOAT, SMALLINT, TUPLE, TUPLE_HEAD, Unpacked, VARCHAR,
    day_number, i32, is_ascii, u16, u32, u64, unpack,
)

cdef extern from *:
    """
    #include <float.h>
    /* Whether a product or quotient of two exact doubles is rounded once. */
    #define EXACT_DOUBLES (FLT_EVAL_METHOD == 0)
    """
    const bint EXACT_DOUBLES

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, PyObject *overflow) except? -1.0
    int PyOS_snprintf(char *text, size_t size, const char *form, ...)
    ctypedef struct PyObject


cdef enum:  # aioifx.codecs.arrow_layout.Layout
    AS_INT16 = 1, AS_INT32, AS_INT64, AS_FLOAT32, AS_FLOAT64, AS_DECIMAL, AS_DATE, AS_TIMESTAMP, AS_CLOCK, AS_DURATION
    AS_BOOL, AS_UTF8, AS_BINARY

# How a field is decoded.
cdef enum Op:
    CALL, TAKE_SHORT, TAKE_WORD, TAKE_LONG, TAKE_INT8, TAKE_SINGLE, TAKE_DECIMAL, TAKE_FLOATING, TAKE_MOMENT,
    TAKE_MOMENT_DAY, TAKE_CLOCK, TAKE_AMOUNT, TAKE_TRUTH, TAKE_CHAR, TAKE_VARCHAR, TAKE_LVARCHAR, TAKE_BYTES

# How text is decoded.
cdef enum Reading:
    BY_CALL, AS_ASCII, AS_LATIN1, AS_UNICODE

cdef enum:
    NULL_WORD = -2_147_483_648
    EPOCH_DAY = 25568  # 1970-01-01 as the day number of a DATE
    LEAST_ROWS = 1024
    AT_ONCE = 64  # rows that are decoded at a time: the bits of a word

cdef uint64_t[20] TENS
cdef double[23] EXACT_TENS
cdef int _place
TENS[0] = 1
for _place in range(1, 20):
    TENS[_place] = TENS[_place - 1] * 10
EXACT_TENS[0] = 1.0
for _place in range(1, 23):
    EXACT_TENS[_place] = EXACT_TENS[_place - 1] * 10.0


cdef struct Growing:
    # how the field is read
    int op
    int head
    int width
    bint strips
    int reading
    uint64_t null  # in 8 bytes
    int32_t first  # of 4 bytes, except NULL
    int32_t last
    int32_t origin  # subtracted from them
    # how its number is converted
    int exponent
    int pairs
    int scale
    int64_t step
    uint64_t limit_high
    uint64_t limit_low
    int64_t[MAX_PAIRS] weights
    # the buffers of the column
    bint varies
    int size
    uint8_t *valid
    uint8_t *values
    uint8_t *data
    int64_t used
    int64_t room


cdef struct Payload:  # of one SQ_TUPLE
    const uint8_t *at  # its next field
    const uint8_t *end
    Py_ssize_t after  # position of the next message


cdef class Memory:
    """Memory of a column, shared with its readers and freed with the last reference."""

    cdef void *at
    cdef Py_ssize_t size

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.at, self.size, 1, flags)

    def __len__(self):
        return self.size

    @property
    def address(self):
        """Of its first byte, valid as long as the object lives."""
        return <size_t> self.at

    def __dealloc__(self):
        PyMem_RawFree(self.at)


cdef Memory memory_of(uint8_t **at, int64_t size):
    """Move the memory at *at*, shortened to *size*, into an object that owns it; the pointer becomes NULL."""
    cdef Memory memory = Memory.__new__(Memory)
    cdef void *fitting = PyMem_RawRealloc(at[0], <size_t> (size if size else 1))
    memory.at = fitting if fitting != NULL else at[0]
    memory.size = <Py_ssize_t> size
    at[0] = NULL
    return memory


# --- reading --------------------------------------------------------------------------------------------------------

cdef int find_tuples(const uint8_t *data, Py_ssize_t pos, Py_ssize_t end, Payload *found) noexcept nogil:
    """Find whole tuples from *pos* on, at most AT_ONCE."""
    cdef int count
    cdef int64_t size
    for count in range(AT_ONCE):
        if end - pos < TUPLE_HEAD:
            return count
        size = i32(data + pos + 4)
        if u16(data + pos) != TUPLE or size < 0 or end - pos - TUPLE_HEAD < size + (size & 1):
            return count
        found[count].at = data + pos + TUPLE_HEAD
        found[count].end = found[count].at + size
        pos += <Py_ssize_t> (TUPLE_HEAD + size + (size & 1))
        found[count].after = pos
    return AT_ONCE


cdef inline bint is_zero(const uint8_t *at, int size) noexcept nogil:
    cdef int place
    for place in range(size):
        if at[place]:
            return False
    return True


cdef bint is_utf8(const uint8_t *at, int64_t size) noexcept nogil:
    """Like Python's strict decoder: only shortest forms, no surrogates, nothing above U+10FFFF."""
    cdef const uint8_t *end = at + size
    cdef uint8_t lead, low, high
    cdef int rest
    while at < end:
        lead = at[0]
        at += 1
        if lead < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= lead <= 0xDF:
            rest = 1
        elif 0xE0 <= lead <= 0xEF:
            rest = 2
            if lead == 0xE0:
                low = 0xA0
            elif lead == 0xED:
                high = 0x9F
        elif 0xF0 <= lead <= 0xF4:
            rest = 3
            if lead == 0xF0:
                low = 0x90
            elif lead == 0xF4:
                high = 0x8F
        else:
            return False
        if end - at < rest or not low <= at[0] <= high:
            return False
        at += 1
        rest -= 1
        while rest:
            if at[0] & 0xC0 != 0x80:
                return False
            at += 1
            rest -= 1
    return True


# --- base 100 -------------------------------------------------------------------------------------------------------

cdef inline bint times(uint64_t *high, uint64_t *low, uint32_t factor, uint32_t plus) noexcept nogil:
    """128 bits * factor + plus; False if it does not fit."""
    cdef uint64_t a = (low[0] & 0xFFFFFFFFU) * factor + plus
    cdef uint64_t b = (low[0] >> 32) * factor + (a >> 32)
    cdef uint64_t c = (high[0] & 0xFFFFFFFFU) * factor + (b >> 32)
    cdef uint64_t d = (high[0] >> 32) * factor + (c >> 32)
    low[0] = (b << 32) | (a & 0xFFFFFFFFU)
    high[0] = (d << 32) | (c & 0xFFFFFFFFU)
    return not d >> 32


cdef inline bint scaled(const Number *number, int scale, uint64_t *high, uint64_t *low) noexcept nogil:
    """number * 10 ** scale without its sign. False if it needs the reference: digits to be rounded, or too many."""
    cdef int zeros = scale - 2 * (number.count - number.exponent), place
    cdef uint64_t value = 0
    high[0] = low[0] = 0
    if not number.count:
        return True
    if zeros < -1 or 2 * number.count + zeros > 39:
        return False
    if 2 * number.count + (zeros if zeros > 0 else 0) <= 19:
        for place in range(number.count):
            value = value * 100 + number.pairs[place]
        if zeros >= 0:
            low[0] = value * TENS[zeros]
            return True
        low[0] = value // 10
        return value % 10 == 0
    for place in range(number.count - 1):
        if not times(high, low, 100, number.pairs[place]):
            return False
    if zeros < 0:
        return number.pairs[number.count - 1] % 10 == 0 and times(high, low, 10, number.pairs[number.count - 1] // 10)
    if not times(high, low, 100, number.pairs[number.count - 1]):
        return False
    while zeros:
        place = zeros if zeros < 9 else 9
        if not times(high, low, <uint32_t> TENS[place], 0):
            return False
        zeros -= place
    return True


cdef inline bint put_decimal(const Number *number, const Growing *column, uint8_t *at) noexcept nogil:
    cdef uint64_t high, low
    cdef uint64_t[2] halves
    cdef uint16_t one = 1
    if not scaled(number, column.scale, &high, &low):
        return False
    if high > column.limit_high or (high == column.limit_high and low >= column.limit_low):
        return False
    if number.negative:
        low = ~low + 1
        high = ~high + (low == 0)
    if (<uint8_t *> &one)[0]:
        halves[0], halves[1] = low, high
    else:
        halves[0], halves[1] = high, low
    memcpy(at, halves, 16)
    return True


cdef bint put_floating(const Number *number, double *at) except -1:
    """Store the nearest double."""
    cdef uint64_t mantissa = 0
    cdef int zeros = 2 * (number.exponent - number.count), place
    cdef double value
    cdef char[64] text
    if not number.count:
        at[0] = 0.0
        return True
    if number.count <= 9:
        for place in range(number.count):
            mantissa = mantissa * 100 + number.pairs[place]
        if not mantissa % 10 and mantissa:
            mantissa //= 10
            zeros += 1
    if EXACT_DOUBLES and number.count <= 9 and mantissa < (<uint64_t> 1 << 53) and -22 <= zeros <= 22:
        value = <double> mantissa
        value = value * EXACT_TENS[zeros] if zeros >= 0 else value / EXACT_TENS[-zeros]
    else:
        for place in range(number.count):
            text[2 * place] = 48 + number.pairs[place] // 10
            text[2 * place + 1] = 48 + number.pairs[place] % 10
        PyOS_snprintf(text + 2 * number.count, 16, b"e%d", 2 * (number.exponent - number.count))
        value = PyOS_string_to_double(text, NULL, NULL)
    at[0] = -value if number.negative else value
    return True


cdef inline Unpacked spread(const uint8_t *field, const Growing *column, uint8_t *pairs) noexcept nogil:
    """All pairs of a qualifier, including zeros that the sender left out."""
    cdef int place, to, lead, known
    cdef uint8_t head = field[0], pair
    if not head & 0x80:
        return NULL_NUMBER if is_zero(field, column.width) else NOT_A_NUMBER
    lead = column.exponent - (head - 0xC0)
    if lead < 0:
        return NOT_A_NUMBER
    memset(pairs, 0, MAX_PAIRS)
    for place in range(column.width - 1):
        pair = field[1 + place]
        if pair > 99:
            return NOT_A_NUMBER
        to = lead + place
        if to < column.pairs:
            pairs[to] = pair
        elif pair:
            return NOT_A_NUMBER
    return IS_NUMBER


cdef inline int64_t day_of(int year, int month, int day) noexcept nogil:
    """Days since 1970-01-01 in the proleptic Gregorian calendar; -10,000,000 for an invalid date."""
    cdef int leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    cdef int days
    if not (1 <= year <= 9999 and 1 <= month <= 12 and day >= 1):
        return -10_000_000
    days = 30 + ((month + (month >> 3)) & 1) if month != 2 else 28 + leap
    if day > days:
        return -10_000_000
    return day_number(year, month, day) - EPOCH_DAY


cdef inline int64_t clock_of(const uint8_t *pairs) noexcept nogil:
    """Microseconds since midnight of hour, minute, second, fraction; -1 for an invalid time."""
    if pairs[0] > 23 or pairs[1] > 59 or pairs[2] > 59:
        return -1
    return (
        ((pairs[0] * 60 + pairs[1]) * 60 + pairs[2]) * <int64_t> 1_000_000
        + pairs[3] * 10_000 + pairs[4] * 100 + pairs[5]
    )


cdef inline bint amount_of(const Number *number, const Growing *column, int64_t *amount) noexcept nogil:
    """An INTERVAL in units of its column; False if the reference must decode it."""
    cdef int lead = column.exponent - number.exponent, place
    cdef int64_t total = 0
    if number.count and (lead < 0 or lead + number.count > column.pairs):
        return False
    for place in range(number.count):
        total += number.pairs[place] * column.weights[lead + place]
    total = total // column.step
    amount[0] = -total if number.negative else total
    return True


# --- columns --------------------------------------------------------------------------------------------------------

cdef inline void mark(uint8_t *bits, int64_t row, bint is_set) noexcept nogil:
    if is_set:
        bits[row >> 3] |= <uint8_t> (1 << (row & 7))
    else:
        bits[row >> 3] &= <uint8_t> ~(1 << (row & 7))


cdef inline bint is_marked(const uint8_t *bits, int64_t row) noexcept nogil:
    return bits[row >> 3] >> (row & 7) & 1


cdef inline void mark_all(uint8_t *bits, int64_t row, uint64_t marks, int count) noexcept nogil:
    """Set or clear the bits of *count* rows, and perhaps some after them."""
    cdef int shift = row & 7, place
    if count:
        bits += row >> 3
        bits[0] = <uint8_t> (bits[0] & ((1 << shift) - 1) | marks << shift)
        marks >>= 8 - shift
        for place in range(1, (shift + count + 7) >> 3):
            bits[place] = <uint8_t> marks
            marks >>= 8


cdef int take_words(Growing *column, int64_t row, Payload *payloads, int count, uint64_t *marks) noexcept nogil:
    """The next field of *count* rows, 4 bytes; returns how many there are before one for the reference.

    It sets the bits of *marks* where a value is not NULL.
    """
    cdef int32_t *values = <int32_t *> column.values + row
    cdef int32_t value
    cdef int index
    for index in range(count):
        if payloads[index].end - payloads[index].at < 4:
            return index
        value = i32(payloads[index].at)
        payloads[index].at += 4
        if value == NULL_WORD:
            values[index] = 0
            continue
        if not column.first <= value <= column.last:
            return index
        values[index] = value - column.origin
        marks[0] |= <uint64_t> 1 << index
    return count


cdef int take_longs(Growing *column, int64_t row, Payload *payloads, int count, uint64_t *marks) noexcept nogil:
    """Like `take_words` with 8 bytes."""
    cdef uint64_t *values = <uint64_t *> column.values + row
    cdef uint64_t value
    cdef int index
    for index in range(count):
        if payloads[index].end - payloads[index].at < 8:
            return index
        value = u64(payloads[index].at)
        payloads[index].at += 8
        if value == column.null:
            values[index] = 0
            continue
        values[index] = value
        marks[0] |= <uint64_t> 1 << index
    return count


cdef int64_t cut(uint8_t *bits, int64_t rows) noexcept nogil:
    """Count the bits of *rows* that are not set; clear those after them."""
    cdef int64_t place, found = 0
    cdef uint8_t byte
    if rows & 7:
        bits[rows >> 3] &= <uint8_t> ((1 << (rows & 7)) - 1)
    for place in range((rows + 7) // 8):
        byte = bits[place]
        byte = byte - ((byte >> 1) & 0x55)
        byte = (byte & 0x33) + ((byte >> 2) & 0x33)
        found += (byte + (byte >> 4)) & 0x0F
    return rows - found


cdef int grow_to(uint8_t **at, int64_t size) except -1:
    """Make room for *size* bytes; a failure changes nothing."""
    cdef uint8_t *found = <uint8_t *> PyMem_RawRealloc(at[0], <size_t> size)
    if found == NULL:
        raise MemoryError
    at[0] = found
    return 0


cdef int grow_bits(uint8_t **at, int64_t before, int64_t bits) except -1:
    """Like `grow_to` for a bitmap; its new bits are 0."""
    grow_to(at, bits // 8)
    memset(at[0] + before // 8, 0, <size_t> ((bits - before) // 8))
    return 0


cdef inline int64_t begin_text(Growing *column, int64_t row) noexcept nogil:
    """Begin the text of a row, over any text of an abandoned row."""
    column.used = (<int32_t *> column.values)[row]
    return column.used


cdef inline void end_text(Growing *column, int64_t row, int64_t size) noexcept nogil:
    column.used += size
    (<int32_t *> column.values)[row + 1] = <int32_t> column.used


cdef inline int ensure(Growing *column, int64_t size) except -1:
    """Make room for *size* more bytes of text."""
    cdef int64_t room = column.used + size
    cdef uint8_t *data
    if room > column.room or column.data == NULL:
        room += column.room if column.room > 4096 else 4096
        data = <uint8_t *> PyMem_RawRealloc(column.data, <size_t> room)
        if data == NULL:
            raise MemoryError
        column.data = data
        column.room = room
    return 0


cdef int put_text(Growing *column, int64_t row, const uint8_t *text, int64_t size, int64_t most) except -1:
    """1: written as UTF-8; 0: no room, or the reference must decode it; 2: the codec must decode it."""
    cdef int64_t place, wide = 0
    cdef uint8_t byte
    cdef uint8_t *to
    begin_text(column, row)
    if column.op == TAKE_BYTES or column.reading != BY_CALL and is_ascii(text, size):
        if column.used + size > most:
            return 0
        ensure(column, size)
        memcpy(column.data + column.used, text, <size_t> size)
    elif column.reading == AS_UNICODE:
        if column.used + size > most or not is_utf8(text, size):
            return 0
        ensure(column, size)
        memcpy(column.data + column.used, text, <size_t> size)
    elif column.reading == AS_LATIN1:
        for place in range(size):
            wide += text[place] >> 7
        if column.used + size + wide > most:
            return 0
        ensure(column, size + wide)
        to = column.data + column.used
        for place in range(size):
            byte = text[place]
            if byte < 0x80:
                to[0] = byte
                to += 1
            else:
                to[0] = <uint8_t> (0xC0 | byte >> 6)
                to[1] = <uint8_t> (0x80 | byte & 0x3F)
                to += 2
        size += wide
    else:
        return 2
    end_text(column, row, size)
    return 1


cdef int describe(Growing *column, tuple field, int reading) except -1:
    """Fill in *column* from a `Field.native` of codecs/arrow_layout.py."""
    cdef int kind, layout
    cdef bint has_pairs
    kind, layout, column.head, column.width, column.strips, column.size, precision, column.scale, _, _, weights, _ = field
    column.exponent, column.pairs = field[8], field[9]
    column.varies = layout >= AS_UTF8
    column.reading = reading
    column.op = CALL
    has_pairs = 2 <= column.width <= MAX_PAIRS + 1
    if kind == SMALLINT and layout == AS_INT16:
        column.op = TAKE_SHORT
    elif kind == INTEGER and layout == AS_INT32:
        column.op = TAKE_WORD
        column.first, column.last, column.origin = NULL_WORD, 2**31 - 1, 0
    elif kind == DATE and layout == AS_DATE:
        column.op = TAKE_WORD
        column.first, column.last, column.origin = FIRST_DAY, LAST_DAY, EPOCH_DAY
    elif kind == BIGINT and layout == AS_INT64:
        column.op = TAKE_LONG
        column.null = 1 << 63
    elif kind == INT8 and layout == AS_INT64:
        column.op = TAKE_INT8
    elif kind == SMALLFLOAT and layout == AS_FLOAT32:
        column.op = TAKE_SINGLE
    elif kind == FLOAT and layout == AS_FLOAT64:
        column.op = TAKE_LONG
        column.null = 2**64 - 1
    elif kind == DECIMAL and layout == AS_DECIMAL and has_pairs:
        column.op = TAKE_DECIMAL
        column.limit_high, column.limit_low = divmod(10**precision, 1 << 64)
    elif kind == DECIMAL and layout == AS_FLOAT64 and has_pairs:
        column.op = TAKE_FLOATING
    elif kind == DATETIME and layout in (AS_TIMESTAMP, AS_CLOCK):
        column.op = TAKE_MOMENT if layout == AS_TIMESTAMP else TAKE_CLOCK
        column.step = <int64_t> TENS[6 - column.scale]
    elif kind == DATETIME and layout == AS_DATE:
        column.op = TAKE_MOMENT_DAY
    elif kind == INTERVAL and weights and has_pairs:
        column.op = TAKE_AMOUNT
        column.step = <int64_t> TENS[6 - column.scale] if layout == AS_DURATION else 1
        for place, weight in enumerate(weights):
            column.weights[place] = weight
    elif kind == BOOLEAN and layout == AS_BOOL:
        column.op = TAKE_TRUTH
    elif kind == CHAR and layout == AS_UTF8:
        column.op = TAKE_CHAR
    elif kind == VARCHAR and layout == AS_UTF8:
        column.op = TAKE_VARCHAR
    elif kind == LVARCHAR and layout == AS_UTF8:
        column.op = TAKE_LVARCHAR
    elif layout == AS_BINARY and column.head == 5:
        column.op = TAKE_BYTES
    return 0


cdef class Columns:
    """Columns to which whole tuples are appended.

    Args:
        fields: `Field.native` of each column.
        codec: Python's name of the code set.
        keeps_ascii: whether bytes below 0x80 are ASCII in it.
        most_bytes: the most bytes of text or binary data in one column.
    """

    cdef Growing *columns
    cdef int count
    cdef list calls
    cdef int64_t most_bytes
    cdef int64_t capacity
    cdef int64_t least
    cdef readonly Py_ssize_t rows

    def __cinit__(self, list fields not None, str codec not None, bint keeps_ascii, most_bytes):
        cdef int place, reading
        self.most_bytes = min(most_bytes, 2**31 - 1)
        self.least = LEAST_ROWS
        self.calls = [field[11] for field in fields]
        self.columns = <Growing *> PyMem_RawMalloc(sizeof(Growing) * (len(fields) + 1))
        if self.columns == NULL:
            raise MemoryError
        memset(self.columns, 0, sizeof(Growing) * (len(fields) + 1))
        self.count = <int> len(fields)
        if codec == "latin-1":
            reading = AS_LATIN1
        elif codec == "utf-8":
            reading = AS_UNICODE
        else:
            reading = AS_ASCII if keeps_ascii else BY_CALL
        for place in range(self.count):
            describe(&self.columns[place], fields[place], reading)

    def __dealloc__(self):
        cdef int place
        if self.columns != NULL:
            for place in range(self.count):
                PyMem_RawFree(self.columns[place].valid)
                PyMem_RawFree(self.columns[place].values)
                PyMem_RawFree(self.columns[place].data)
            PyMem_RawFree(self.columns)

    @property
    def nbytes(self):
        """Size of the columns in bytes."""
        cdef int64_t total = 0
        cdef int place
        for place in range(self.count):
            total += self.columns[place].size * self.rows + self.columns[place].used
        return total

    def decode(self, bytearray data not None, Py_ssize_t pos, Py_ssize_t end):
        """Append whole tuples from *pos* on; returns the position of the first one that was not appended."""
        cdef Py_buffer buffer
        cdef Payload[AT_ONCE] payloads
        cdef int found = AT_ONCE, count = AT_ONCE
        # While exported, the bytearray cannot be resized.
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            if pos < 0 or end > buffer.len:
                raise IndexError("outside the data")
            while count == AT_ONCE:
                found = find_tuples(<const uint8_t *> buffer.buf, pos, end, payloads)
                if found > self.capacity - self.rows:
                    self.grow()
                count = self.read(payloads, found)
                if count:
                    self.rows += count
                    pos = payloads[count - 1].after
        finally:
            PyBuffer_Release(&buffer)
        return pos

    def append(self, tuple row not None):
        """Append one row of stored values; False if there is no room for it."""
        cdef int place
        if len(row) != self.count:
            raise ValueError("not a value for each column")
        if self.rows == self.capacity:
            self.grow()
        for place in range(self.count):
            if not self.store(&self.columns[place], self.rows, row[place]):
                return False
        self.rows += 1
        return True

    def finish(self):
        """Return the number of rows, and NULLs, validity, values and data of each column; empties the columns."""
        cdef int place
        cdef Growing *column
        cdef int64_t rows = self.rows, bits = (self.rows + 7) // 8, nulls
        cdef list chunks = []
        if not self.capacity:
            self.grow()
        for place in range(self.count):
            column = &self.columns[place]
            nulls = cut(column.valid, rows)
            validity = memory_of(&column.valid, bits) if nulls else None
            if column.varies:
                begin_text(column, rows)
                ensure(column, 0)
                values = memory_of(&column.values, 4 * (rows + 1))
                chunks.append((nulls, validity, values, memory_of(&column.data, column.used)))
            elif column.size:
                chunks.append((nulls, validity, memory_of(&column.values, column.size * rows), None))
            else:
                cut(column.values, rows)
                chunks.append((nulls, validity, memory_of(&column.values, bits), None))
            PyMem_RawFree(column.valid)
            column.valid = NULL
            column.used = column.room = 0
        # The next block is likely to be as large.
        self.least = max(LEAST_ROWS, (rows + 7) // 8 * 8)
        self.rows = self.capacity = 0
        return rows, chunks

    cdef int grow(self) except -1:
        """Double the capacity in rows. After a failure it can be called again."""
        cdef int64_t before = self.capacity, capacity = before * 2 if before else self.least
        cdef int place
        cdef Growing *column
        if capacity >= 2**31 - 1:
            raise MemoryError
        for place in range(self.count):
            column = &self.columns[place]
            grow_bits(&column.valid, before, capacity)
            if column.size:
                grow_to(&column.values, column.size * (capacity + 1))
            else:
                grow_bits(&column.values, before, capacity)
            if column.varies and not before:
                (<int32_t *> column.values)[0] = 0
        self.capacity = capacity
        return 0

    cdef int store(self, Growing *column, int64_t row, stored) except -1:
        """Write stored bytes, or None for NULL, to a row; 0: no room."""
        cdef int64_t size = 0
        cdef const uint8_t *at = NULL
        cdef bint is_set = stored is not None
        if is_set:
            size = PyBytes_GET_SIZE(<bytes?> stored)
            at = <const uint8_t *> PyBytes_AS_STRING(stored)
            if not column.varies and size != (column.size if column.size else 1):
                raise ValueError("stored bytes of another size")
        mark(column.valid, row, is_set)
        if column.varies:
            begin_text(column, row)
            if column.used + size > self.most_bytes:
                return 0
            ensure(column, size)
            if is_set:
                memcpy(column.data + column.used, at, <size_t> size)
            end_text(column, row, size)
        elif not column.size:
            mark(column.values, row, is_set and at[0])
        elif is_set:
            memcpy(column.values + row * column.size, at, <size_t> size)
        else:
            memset(column.values + row * column.size, 0, <size_t> column.size)
        return 1

    cdef int call(self, int place, int64_t row, const uint8_t *at, int64_t size) except -1:
        """Decode a field with its Python function; 0: the reference must decode the row."""
        field = PyBytes_FromStringAndSize(<const char *> at, <Py_ssize_t> size)
        try:
            stored = self.calls[place](field)
        except Exception:
            return 0
        return self.store(&self.columns[place], row, stored)

    cdef int read(self, Payload *payloads, int count) except -1:
        """Decode *count* rows; returns how many there are before one that the reference must decode."""
        cdef int place, index
        cdef Growing *column
        cdef uint64_t marks
        for place in range(self.count):
            column = &self.columns[place]
            marks = 0
            if column.op == TAKE_WORD:
                count = take_words(column, self.rows, payloads, count, &marks)
            elif column.op == TAKE_LONG:
                count = take_longs(column, self.rows, payloads, count, &marks)
            else:
                count = self.read_column(place, payloads, count, &marks)
            mark_all(column.valid, self.rows, marks, count)
        for index in range(count):
            if payloads[index].at != payloads[index].end:
                return index
        return count

    cdef int read_column(self, int place, Payload *payloads, int count, uint64_t *marks) except -1:
        """Like `take_words` with fields of any kind."""
        cdef Growing *column = &self.columns[place]
        cdef const uint8_t *at
        cdef uint8_t *values = column.values
        cdef int64_t row, size, rest, wide
        cdef uint64_t bits
        cdef uint32_t word
        cdef int index, found, op = column.op, head = column.head
        cdef bint is_set
        cdef double floating
        cdef Number number
        cdef Unpacked unpacked
        cdef uint8_t[MAX_PAIRS] pairs
        for index in range(count):
            row = self.rows + index
            at = payloads[index].at
            # The size of the field; that many bytes of the row must remain.
            rest = payloads[index].end - at
            if head == 0:
                size = column.width
            elif head == 1:
                if rest < 1:
                    return index
                size = 1 + at[0]
            else:
                if rest < 5:
                    return index
                size = 5 + <int64_t> u32(at + 1)
            if rest < size:
                return index
            payloads[index].at = at + size
            is_set = True
            if op == TAKE_SHORT:
                word = u16(at)
                is_set = word != 0x8000
                (<uint16_t *> values)[row] = <uint16_t> word if is_set else 0
            elif op == TAKE_SINGLE:
                word = u32(at)
                is_set = word != 0xFFFFFFFFU
                if word & 0x7FFFFFFFU > 0x7F800000U:  # make a NaN quiet, as conversions to double do
                    word |= 0x00400000U
                (<uint32_t *> values)[row] = word if is_set else 0
            elif op == TAKE_INT8:
                bits = <uint64_t> u32(at + 2) | (<uint64_t> u32(at + 6) << 32)
                word = u16(at)
                if word == 0:
                    is_set = False
                    bits = 0
                elif bits >> 63:
                    return index
                elif word == 0xFFFF:
                    bits = 0 - bits
                elif word != 1:
                    return index
                (<uint64_t *> values)[row] = bits
            elif op == TAKE_VARCHAR or op == TAKE_CHAR or op == TAKE_LVARCHAR or op == TAKE_BYTES:
                wide = size - head
                if op == TAKE_VARCHAR:
                    is_set = not (wide == 1 and at[1] == 0)
                elif op == TAKE_CHAR:
                    is_set = not (wide and at[0] == 0)
                    while column.strips and wide and at[wide - 1] == 32:
                        wide -= 1
                else:
                    is_set = at[0] == 0
                found = put_text(column, row, at + head, wide if is_set else 0, self.most_bytes)
                if not found or found == 2 and not self.call(place, row, at, size):
                    return index
            elif op == TAKE_DECIMAL or op == TAKE_FLOATING:
                unpacked = unpack(at, column.width, &number)
                if unpacked == NOT_A_NUMBER:
                    return index
                is_set = unpacked == IS_NUMBER
                if op == TAKE_FLOATING:
                    floating = 0.0
                    if is_set:
                        put_floating(&number, &floating)
                    (<double *> values)[row] = floating
                elif not is_set:
                    memset(values + 16 * row, 0, 16)
                elif not put_decimal(&number, column, values + 16 * row):
                    return index
            elif op == TAKE_MOMENT or op == TAKE_MOMENT_DAY:
                unpacked = spread(at, column, pairs)
                if unpacked == NOT_A_NUMBER:
                    return index
                is_set = unpacked == IS_NUMBER
                wide = 0
                if is_set:
                    wide = day_of(pairs[0] * 100 + pairs[1], pairs[2], pairs[3])
                    if wide < -1_000_000:
                        return index
                if op == TAKE_MOMENT_DAY:
                    (<int32_t *> values)[row] = <int32_t> wide
                else:
                    if is_set:
                        rest = clock_of(pairs + 4)
                        if rest < 0:
                            return index
                        wide = wide * (86_400_000_000LL // column.step) + rest // column.step
                    (<int64_t *> values)[row] = wide
            elif op == TAKE_CLOCK:
                unpacked = spread(at, column, pairs)
                wide = clock_of(pairs) if unpacked == IS_NUMBER else 0
                if unpacked == NOT_A_NUMBER or wide < 0:
                    return index
                is_set = unpacked == IS_NUMBER
                if column.size == 8:
                    (<int64_t *> values)[row] = wide // column.step
                else:
                    (<int32_t *> values)[row] = <int32_t> (wide // column.step)
            elif op == TAKE_TRUTH:
                is_set = at[0] == 0
                word = at[5] if size == 6 else 0xFF
                if is_set and word not in (c"t", c"f", c"T", c"F", 1, 0):
                    return index
                mark(values, row, is_set and (word == c"t" or word == c"T" or word == 1))
            elif op == TAKE_AMOUNT:
                unpacked = unpack(at, column.width, &number)
                if unpacked == NOT_A_NUMBER:
                    return index
                is_set = unpacked == IS_NUMBER
                wide = 0
                if is_set and not amount_of(&number, column, &wide):
                    return index
                if column.size == 8:
                    (<int64_t *> values)[row] = wide
                else:
                    (<int32_t *> values)[row] = <int32_t> wide
            else:
                if not self.call(place, row, at, size):
                    return index
                is_set = is_marked(column.valid, row)
            marks[0] |= <uint64_t> is_set << index
        return count
