"""Costs of calls, and their reports: operations, observers, counters. Never: a request, the caller's use of a reply."""
