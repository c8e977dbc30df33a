"""What the stack of this folder starts from."""

OLDER = "older"
"""A namespace that was labelled for a tenant before there were policies."""
TENANCY = {"limits": {"fluxObjects": 3}}
"""What the stack has for all tenants."""
