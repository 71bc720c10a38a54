from libc.stdint cimport int64_t


cdef class CoreInbox:
    cdef public bytearray data
    cdef public Py_ssize_t pos
    cdef public int64_t dropped, limit
    cdef public bint eof

    cdef object _feed(self, data)
