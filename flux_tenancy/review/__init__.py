"""Commands for reviewers of pull requests: what a stack would apply, what a change means, and what is refused.

Put here what compares, judges or shows a render; what makes the objects is in `components`. Nothing here needs a
cluster, credentials or a passphrase, except for the commands that say so.
"""
