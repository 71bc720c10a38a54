"""The tree of SQLite's SQL that the translator makes, and its text. Never: Informix SQL, running a text."""
