"""Options: URLs, environment variables, sqlhosts files, checks. Never: a socket."""
