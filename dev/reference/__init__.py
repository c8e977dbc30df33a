"""The generators of the reference pages of docs/, from models, tables and messages.

Put here a generated page; a test of `tests/unit` fails if it is stale.
"""
