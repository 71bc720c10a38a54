"""The hot loops again, in Cython: same values, same types, same refusals. Never: imports from aioifx.

Nobody imports this but `aioifx.codecs.native`, which has a Python function for whatever is not built here.
"""
