"""BLOB and CLOB values: created, opened, read, written, released. Never: a row, a statement."""
