"""The system catalog: its tables read, described and written as DDL. Never: SQLAlchemy, a command line."""
