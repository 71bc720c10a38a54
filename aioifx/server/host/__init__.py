"""The listening socket, and the databases present at startup. Never: a message."""
