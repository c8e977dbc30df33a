"""The isolation suite: it attacks a Flux cluster as a tenant could, whether or not this program manages the cluster.

Put attempts, their proofs and reports here. What attempts need to know about this project's objects comes from
`components`; nothing here requires a cluster that this program has set up.
"""
