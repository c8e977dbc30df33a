"""The lab: a real cluster, Git host and Pulumi engine on this machine, without containers.

Put here what builds, starts, stops or shows a process of the lab; what only a test needs of it is in `tests/support`.
"""
