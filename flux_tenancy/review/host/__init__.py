"""The repository's host as GitHub's API shows it to a job: pull requests, comments, and what other jobs left behind.

Put here a further call of that API; nothing below knows that there is a host.
"""
