"""The listening socket, and the databases that it begins with. Never: a message."""
