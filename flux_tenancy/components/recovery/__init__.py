"""Leftovers of a killed update, and other owners of the stack's fields: finding and ending them.

Put here what an update looks for before its first resource because an earlier one did not end as it should.
"""
