"""The shell: statements, commands, completion, a pager. Never: what other verbs do."""
