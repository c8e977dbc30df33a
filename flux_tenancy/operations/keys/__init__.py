"""Deploy keys and SOPS keys: creating them, and storing them encrypted in a stack.

Put here what a command of the group `key` computes.
"""
