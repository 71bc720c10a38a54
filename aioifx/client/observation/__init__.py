"""What calls cost, and who is told: operations, observers, counters. Never: a request, the caller's use of a reply."""
