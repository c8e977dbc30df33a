"""The logic of commands for platform admins: they change the stack's files or read the cluster; only repairs change it.

Put here what a command of the groups `tenant`, `key`, `drift`, `fleet` and `releases` computes, and `flux-tenancy up`.
"""
