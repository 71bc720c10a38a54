"""Five ways to read a big table, measured side by side: python -m examples.bulk_read_lab."""
