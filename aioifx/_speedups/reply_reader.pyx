# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
# cython: freethreading_compatible=True
"""Native reader of whole replies in their common form. Never: values of rows, texts of errors, aioifx's modules.

Invariants:
1. Native code never reports errors. It consumes nothing of an incomplete reply or of one in another form;
   aioifx.wire.replies reads those.
2. Bytes from the network are never trusted: each message is checked to fit the buffer before it is read.
3. The end of the reply is found first, from sizes only, so that rows are decoded once. Then the buffer is released,
   and the row decoder is called. If more rows follow, their request can be sent in between.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from aioifx._speedups.inbox cimport CoreInbox
from aioifx._speedups.common cimport (
    CLOSE, COST, DONE, EOT, INSERTDONE, MAX_TEXT, TUPLE, TUPLE_HEAD, XACTSTAT, i16, i32, i64, u16, u32,
)

cdef enum:
    COST_SIZE = 10
    XACTSTAT_SIZE = 8

cdef extern from "Python.h":
    ctypedef struct PyObject
    ctypedef struct PyTypeObject:
        PyObject* (*tp_alloc)(PyTypeObject*, Py_ssize_t) except NULL
        PyObject* (*tp_new)(PyTypeObject*, PyObject*, PyObject*) except NULL
    void PyTuple_SET_ITEM(PyObject*, Py_ssize_t, PyObject*)
    PyObject* PyLong_FromLongLong(long long) except NULL
    PyObject* PyLong_FromUnsignedLongLong(unsigned long long) except NULL
    void Py_DECREF(PyObject*)


cdef object owned(PyObject* made):
    """Take over a new reference as an object."""
    value = <object>made
    Py_DECREF(made)
    return value


cdef PyObject* new_tuple(object cls, Py_ssize_t size) except NULL:
    """A new instance of a tuple subclass without fields of its own; its items are not set."""
    cdef PyTypeObject* made = <PyTypeObject*><PyObject*>cls
    return made.tp_alloc(made, size)


cdef object new_object(object cls):
    """A new instance, without a call of __init__."""
    cdef PyTypeObject* made = <PyTypeObject*><PyObject*>cls
    return owned(made.tp_new(made, <PyObject*>(), NULL))


cdef struct Ending:  # the parts of ``TUPLE* [[CLOSE] [INSERTDONE] DONE COST [XACTSTAT]] EOT``
    Py_ssize_t tuples  # end of the tuples
    Py_ssize_t size
    bint has_done  # otherwise there are only tuples: more rows follow
    bint closes
    bint inserts
    uint64_t serial8
    int64_t bigserial
    int warnings
    int64_t rows
    int64_t rowid
    int32_t serial
    int32_t estimate
    int32_t cost
    bint has_state
    int event
    int level
    int previous


@cython.final
cdef class FastReplyReader:
    """Reads replies of one kind; `try_read` is a TryReadReply of aioifx.wire.replies."""

    cdef object decode
    cdef Py_ssize_t limit
    cdef bint bigint
    cdef bint long_rowid
    cdef object reply
    cdef object done
    cdef object cost
    cdef object serials
    cdef object transaction
    cdef object continuation

    def __cinit__(
        self, decode, Py_ssize_t limit, bint bigint, bint long_rowid, reply, done, cost, serials, transaction,
        continuation,
    ):
        self.decode = decode
        self.limit = limit
        self.bigint = bigint
        self.long_rowid = long_rowid
        self.reply = reply
        self.done = done
        self.cost = cost
        self.serials = serials
        self.transaction = transaction
        self.continuation = continuation

    def try_read(self, CoreInbox inbox not None):
        """Consume and return the next reply of the *inbox*; None, without consuming, if it is of another form."""
        cdef Ending ending
        cdef Py_buffer buffer
        cdef Py_ssize_t pos = inbox.pos
        cdef bint is_common, is_all
        cdef list rows = []
        cdef object raised = None
        cdef bytearray data = inbox.data
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        is_common = 0 <= pos <= buffer.len and self._find(
            <const uint8_t*>buffer.buf + pos, buffer.len - pos, &ending
        )
        is_all = is_common and pos + ending.size == buffer.len
        PyBuffer_Release(&buffer)
        if not is_common or ending.size > self.limit:
            return None
        if ending.tuples:
            if self.decode is None:
                return None
            # Bytes after the reply would be taken for the one to the next request.
            if is_all and not ending.has_done and self.continuation is not None:
                send = self.continuation.send
                if send is not None:
                    send()
            try:
                if self.decode(data, pos, pos + ending.tuples, rows) != pos + ending.tuples:
                    return None
            except Exception:  # the reference raises it again
                return None
            except BaseException as error:  # of a decoder of the user, which is not called again
                raised = error
        inbox.pos = pos + ending.size
        reply = self._reply(&ending, rows)
        if raised is None:
            reply.is_plain = True
        else:
            reply.bad_value = raised
        return reply

    cdef bint _find(self, const uint8_t* p, Py_ssize_t rest, Ending* ending) noexcept nogil:
        """Whether the *rest* bytes at *p* begin with a reply of the common form; then *ending* is filled in."""
        cdef const uint8_t* begin = p
        cdef Py_ssize_t size
        if rest < 2 or u16(p + rest - 2) != EOT:  # most likely the beginning of a long reply
            return False
        while rest >= TUPLE_HEAD and u16(p) == TUPLE:
            size = i32(p + 4)
            if not 0 <= size <= MAX_TEXT:
                return False
            size += TUPLE_HEAD + (size & 1)
            if size > rest:
                return False
            p += size
            rest -= size
        ending.tuples = p - begin
        if rest < 2:
            return False
        ending.has_done = u16(p) != EOT
        if not ending.has_done:
            ending.size = ending.tuples + 2
            return True
        ending.closes = u16(p) == CLOSE
        if ending.closes:
            p += 2
            rest -= 2
        size = 20 if self.bigint else 12
        ending.inserts = rest >= size and u16(p) == INSERTDONE
        if ending.inserts:
            if i16(p + 2) != 1 and i16(p + 2) != 0:
                return False
            ending.serial8 = (<uint64_t>u32(p + 8) << 32 | u32(p + 4)) if i16(p + 2) else 0
            ending.bigserial = i64(p + 12) if self.bigint else 0
            p += size
            rest -= size
        size = 24 if self.long_rowid else 16
        if rest < size + COST_SIZE + 2 or u16(p) != DONE or u16(p + size) != COST:
            return False
        ending.warnings = u16(p + 2)
        ending.rows = i64(p + 4) if self.long_rowid else i32(p + 4)
        if ending.rows < 0:
            return False
        ending.rowid = i64(p + 12) if self.long_rowid else i32(p + 8)
        ending.serial = i32(p + size - 4)
        p += size
        ending.estimate = i32(p + 2)
        ending.cost = i32(p + 6)
        p += COST_SIZE
        rest -= size + COST_SIZE
        ending.has_state = u16(p) == XACTSTAT
        if ending.has_state:
            if rest < XACTSTAT_SIZE + 2:
                return False
            ending.event = i16(p + 2)
            ending.level = i16(p + 4)
            ending.previous = i16(p + 6)
            p += XACTSTAT_SIZE
        ending.size = p + 2 - begin
        return u16(p) == EOT

    cdef object _reply(self, const Ending* ending, list rows):
        cdef PyObject* made
        reply = new_object(self.reply)
        reply.rows = rows
        if not ending.has_done:
            return reply
        made = new_tuple(self.done, 4)
        done = owned(made)  # from here on it is released even if creating an item fails
        PyTuple_SET_ITEM(made, 0, PyLong_FromLongLong(ending.warnings))
        PyTuple_SET_ITEM(made, 1, PyLong_FromLongLong(ending.rows))
        PyTuple_SET_ITEM(made, 2, PyLong_FromLongLong(ending.rowid))
        PyTuple_SET_ITEM(made, 3, PyLong_FromLongLong(ending.serial))
        reply.done = done
        made = new_tuple(self.cost, 2)
        reply.cost = owned(made)
        PyTuple_SET_ITEM(made, 0, PyLong_FromLongLong(ending.estimate))
        PyTuple_SET_ITEM(made, 1, PyLong_FromLongLong(ending.cost))
        if ending.closes:
            reply.is_cursor_closed = True
        if ending.inserts:
            made = new_tuple(self.serials, 2)
            reply.serials = owned(made)
            PyTuple_SET_ITEM(made, 0, PyLong_FromUnsignedLongLong(ending.serial8))
            PyTuple_SET_ITEM(made, 1, PyLong_FromLongLong(ending.bigserial))
        if ending.has_state:
            made = new_tuple(self.transaction, 3)
            reply.transaction = owned(made)
            PyTuple_SET_ITEM(made, 0, PyLong_FromLongLong(ending.event))
            PyTuple_SET_ITEM(made, 1, PyLong_FromLongLong(ending.level))
            PyTuple_SET_ITEM(made, 2, PyLong_FromLongLong(ending.previous))
        return reply
