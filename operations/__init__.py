"""Commands of the platform team in addition to `pulumi`: they change the stack's configuration, never the cluster."""
