"""What connections send and receive, as events. Never: a value, unless it is asked for."""
