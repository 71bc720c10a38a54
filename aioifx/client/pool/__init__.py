"""Acquiring and releasing pooled connections. Never: a message."""
