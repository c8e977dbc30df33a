"""The inventory: what is in force in each namespace of a tenant, held against what is intended.

Attempts find what is open to a request; the inventory finds what was added, changed or removed by hand, wherever it is.
What is intended comes from a stack's own render, or from a profile where a cluster has no stack.
"""
