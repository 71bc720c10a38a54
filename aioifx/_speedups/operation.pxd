cimport cython
from libc.stdint cimport int64_t


cdef class CoreOperation:
    cdef public object name, sql, parameters, batch_size, host, port, server_name, database, user, session_id, pool
    cdef public object duration, lag, position, error, meter
    cdef public double started_at, wait_time, queue_time, server_time, decode_time, began
    cdef public int64_t rows, bytes_in, bytes_out, round_trips

    cpdef object set_identity(self, tuple identity)


cdef class CoreObservation:
    cdef public tuple observers
    cdef public tuple _on_start, _on_end
    cdef public object _make, _identity, _pool

    @cython.locals(operation=CoreOperation)
    cpdef CoreOperation start(self, name, sql=*, parameters=*, session=*)
    @cython.locals(duration=double)
    cpdef object end(self, CoreOperation operation, error=*, waited=*)
    cdef object _notify(self, tuple methods, CoreOperation operation)
