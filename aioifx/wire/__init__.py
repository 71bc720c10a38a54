"""Bytes <-> messages. Never: asyncio, sockets, codecs, who is client and who is server."""
