"""The command line, aioifx: a module for each verb, and what they share. Never: bytes of the protocol."""
