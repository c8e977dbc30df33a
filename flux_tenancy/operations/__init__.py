"""Commands of the platform team in addition to `pulumi`: they change the stack's configuration, not the cluster.

Only `repair` changes the cluster: it removes what others have added to objects of the stack.
"""
