"""The hot loops again, in Cython: same values, same types, same refusals. Never: imports from aioifx.

Only `aioifx.codecs.native` imports it, and has a Python function for each that is not built here.
"""
