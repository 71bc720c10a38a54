cdef class CoreInbox:
    cdef public bytearray data
    cdef public Py_ssize_t pos, dropped, limit
    cdef public bint eof

    cdef object _feed(self, data)
