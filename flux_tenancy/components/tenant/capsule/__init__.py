"""A tenant in `tenancy.mode: capsule`: its Tenant and owner, and what is in the namespaces that it makes itself.

Put here what a tenant has only with Capsule; the product is installed by `installs.capsule`.
"""
