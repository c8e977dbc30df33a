"""Entries of allow-lists for sources, images and hosts, read the same way by Python and by CEL.

Put here a kind of entry, with the CEL that compares it.
"""
