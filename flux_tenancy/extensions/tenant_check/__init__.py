"""`flux-tenancy tenant envelope` and `flux-tenancy check`: a tenant's pull request says what the platform will refuse.

Put here what the tenant's side needs: it has a file of the platform team, and neither the stack nor a cluster.
"""
