"""What a stack is: reading and checking its files, its plan, its resources, and what is in the cluster beside them.

Put here what `pulumi up` needs; what only a command needs is above.
"""
