"""What RBAC allows: roles and bindings, the rights of a role, whether some include others, and whom a binding reaches.

Put here what Kubernetes' authorizer would answer, whoever asks; what a right means for a reader is said above.
"""
