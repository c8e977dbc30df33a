"""One report of what a change means for all stacks, and its forms: for a terminal, for a comment, as JSON.

Put here how reviewers see something; that it changed is found out below.
"""
