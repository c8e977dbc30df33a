"""After the last resource: progress of the syncs, what tenants may do in addition, what is left, and the outputs.

Put here what the stack tells once everything is registered.
"""
