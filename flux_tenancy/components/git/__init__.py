"""Git sources: their objects in the cluster, their keys and webhooks at GitHub, and the rotation of those keys.

Put here what depends on where a repository is and who may read it.
"""
