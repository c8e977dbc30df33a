"""Tenant: a team's namespaces, limits, identity, access and sync, and what becomes of them when it leaves.

Put here what one tenant has; what no tenant may do is a policy.
"""
