"""Offboarding that a tenant cannot block: what waits for its deletion, what is forced, and what is left.

Put here what happens only because a tenant goes.
"""
