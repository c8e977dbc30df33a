"""The starting point of this folder's stack."""

OLDER = "older"
"""A namespace that was labelled for a tenant before there were policies."""
TENANCY = {"limits": {"fluxObjects": 3}}
"""The stack's settings for all tenants."""
