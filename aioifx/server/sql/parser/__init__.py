"""The parser: tokens to tree, one statement at a time. Never: what a name stands for."""
