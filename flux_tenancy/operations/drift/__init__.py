"""What the cluster has beside what was applied, and the repair of it.

Put here what compares the cluster with the state; what a tenant may do in addition is in `components`.
"""
