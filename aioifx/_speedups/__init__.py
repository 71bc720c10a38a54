"""The hot loops in Cython, with the same values, types and errors. Never: imports from aioifx.

Only `aioifx.codecs.native` imports it, and has a Python function for each that is not built here.
"""
