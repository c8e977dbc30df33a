"""The project that commands work on: its stacks and tenants as their files describe them, and errors about it.

Put here what all groups of commands share; what makes objects is in `components`.
"""
