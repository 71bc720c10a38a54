cimport cython
from libc.stdint cimport int64_t

from aioifx._speedups.inbox cimport CoreInbox
from aioifx._speedups.operation cimport CoreOperation


cdef class InFlight:
    cdef public object reader, on_reply, on_orphan, on_lost, future, parser, deadline
    cdef public CoreOperation operation
    cdef public bint is_interruptible, is_abandoned
    cdef public double timeout, sent_at


cdef class CoreChannel:
    cdef public CoreInbox inbox
    cdef public object pending_replies, failure, on_reply, on_answered, _transport, _loop
    cdef public int64_t bytes_out
    cdef public object current_operation
    cdef public double _quiet_since
    cdef public bint _is_parsing_paused

    @cython.locals(operation=CoreOperation, now=double, after=double)
    cpdef object data_received(self, data)
    cdef object _write(self, data, CoreOperation operation)
    cdef object _receive(self, data)
    @cython.locals(operation=CoreOperation)
    cdef object _meter(self, InFlight in_flight)
    @cython.locals(in_flight=InFlight, operation=CoreOperation, now=double)
    cpdef CoreOperation add_server_time(self, double now)
    @cython.locals(in_flight=InFlight)
    cpdef object add_outstanding_time(self, CoreOperation operation)

    @cython.locals(inbox=CoreInbox, in_flight=InFlight)
    cdef object _parse_replies(self)


cdef class Waiter:
    cdef public object start, started, future, failure, deadline, timeout
    cdef public bint has_lock, is_late
    cdef public InFlight in_flight


cdef class CoreInterrupter:
    cdef public bint is_pending, is_unconfirmed, has_unasked
    cdef public object cancel_timer


cdef class CoreDispatcher:
    cdef public CoreInterrupter interrupter
    cdef public CoreChannel channel
    cdef public InFlight _awaited
    cdef public object stats, binding, command_timeout
    cdef public object on_reply, _request, _in_flight, _holder, _deadline, _timeout, _deferred, _idle_waiter, _before_send
    cdef public object _waiters
    cdef public Py_ssize_t _undelivered
    cdef public bint counts_plain, is_acquired, _started, _is_closing

    cdef bint _may_start(self)

    cpdef bint enqueue(self, Waiter waiter) except -1

    @cython.locals(waiter=Waiter, in_flight=InFlight)
    cpdef object pass_lock(self)

    @cython.locals(in_flight=InFlight)
    cpdef InFlight send_statement(self, request, reader, on_lost, future=*)

    cdef InFlight _send(self, request, InFlight in_flight)
