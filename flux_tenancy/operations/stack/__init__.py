"""A stack as Pulumi and its cluster have it: the command `pulumi`, its configuration, and the connection.

Put here what runs `pulumi`, or connects to the stack's cluster.
"""
