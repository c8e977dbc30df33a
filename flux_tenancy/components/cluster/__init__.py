"""The one cluster of the stack: its provider, a client, manifests, and what of earlier updates is in it.

Put here what holds for any Kubernetes object, whoever it is for.
"""
