"""Bytes <-> values. Never: asyncio, the inbox, messages other than the tuple and the parameter."""
