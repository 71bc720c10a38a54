"""Push data: changes of rows as JSON documents, which the server sends by registered queries. Never: CDC records."""
