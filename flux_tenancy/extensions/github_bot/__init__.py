"""`flux-tenancy ci`: the workflows' side of reviews, drift and releases at GitHub, or a server with its API.

Put here a call of that API, and what only workflows need; nothing else knows that there is a host.
"""
