"""What differs between two renders or stack files: objects, keys, the program, deletions, releases, secrets.

Put here a kind of difference that is not about who may do what.
"""
