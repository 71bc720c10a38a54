"""LOAD and UNLOAD: sources, text formats, batches. Never: a socket."""
