"""Commands of the platform admin beside `pulumi`: they change the stack's configuration, never the cluster."""
