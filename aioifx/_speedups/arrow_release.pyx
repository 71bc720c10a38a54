# cython: language_level=3
# cython: freethreading_compatible=True
"""Release of the structures of Arrow's C data interface, and of their capsules. Never: what they hold.

Invariants:
1. An exception that the thread is raising stays as it is: consumers release what they hold while they fail.
2. Nothing is released once the interpreter has ended.
"""

from libc.stdint cimport int64_t
from libc.string cimport strcmp


cdef extern from "Python.h":
    ctypedef struct PyObject
    int Py_IsInitialized() nogil
    const char *PyCapsule_GetName(PyObject *capsule)  # without a reference: its count is 0
    void *PyCapsule_GetPointer(PyObject *capsule, const char *name)
    void PyErr_Fetch(PyObject **kind, PyObject **value, PyObject **trace)
    void PyErr_Restore(PyObject *kind, PyObject *value, PyObject *trace)


cdef struct Schema:
    const char *form
    const char *name
    const char *metadata
    int64_t flags
    int64_t n_children
    Schema **children
    Schema *dictionary
    void (*release)(Schema *) noexcept nogil
    void *private_data

cdef struct Array:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    Array **children
    Array *dictionary
    void (*release)(Array *) noexcept nogil
    void *private_data

cdef struct Stream:
    void *get_schema
    void *get_next
    void *get_last_error
    void (*release)(Stream *) noexcept nogil
    void *private_data


cdef dict _live = {}

LIVE = _live
"""What lives until a release: by the private data of a structure, or by the address of a capsule."""


cdef void forget(void *key) noexcept with gil:
    cdef PyObject *kind
    cdef PyObject *value
    cdef PyObject *trace
    PyErr_Fetch(&kind, &value, &trace)
    _live.pop(<size_t> key, None)
    PyErr_Restore(kind, value, trace)


cdef void drop(void *key) noexcept nogil:
    if Py_IsInitialized():
        forget(key)


ctypedef fused Struct:
    Schema
    Array
    Stream

ctypedef fused Parent:
    Schema
    Array


cdef inline void release_held(Struct *one) noexcept nogil:
    """Release a structure, unless that was done."""
    if one.release != NULL:
        one.release(one)


cdef void release_parent(Parent *one) noexcept nogil:
    cdef int64_t place
    for place in range(one.n_children):
        release_held(one.children[place])
    one.release = NULL
    drop(one.private_data)


cdef void release_stream(Stream *stream) noexcept nogil:
    stream.release = NULL
    drop(stream.private_data)


cdef void destroy(PyObject *capsule) noexcept:
    """The destructor of a capsule: releases a structure that no consumer has taken."""
    cdef const char *name = PyCapsule_GetName(capsule)
    cdef void *at = PyCapsule_GetPointer(capsule, name)
    if strcmp(name, "arrow_schema") == 0:
        release_held(<Schema *> at)
    elif strcmp(name, "arrow_array") == 0:
        release_held(<Array *> at)
    else:
        release_held(<Stream *> at)
    drop(capsule)


ADDRESSES = (
    <size_t> &release_parent[Schema], <size_t> &release_parent[Array], <size_t> &release_stream, <size_t> &destroy
)
"""Of the functions that release a schema, an array and a stream, and of the destructor of a capsule."""
