"""Diagnosis of a connection, step by step, for `aioifx.diagnose` and the command line. Never: the embedded server."""
