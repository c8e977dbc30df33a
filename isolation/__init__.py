"""The isolation suite: what a tenant may try, tried against a Flux cluster, be it this program's or another's.

Attempts, their proofs and reports belong here. What the attempts need to know of this project's objects comes from
`components`; nothing here needs a cluster that this program has made.
"""
