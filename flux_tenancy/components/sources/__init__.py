"""Sources of all of Flux's kinds beside a tenant's own repository: their models, credentials and objects.

Put here what holds for every kind of source; what only Git has belongs in `git`.
"""
