"""Connections that are lent and taken back. Never: a message."""
