"""Flux Kustomizations: how a folder of a repository is applied and decrypted, and how far Flux has come with it.

Put here what is the same for the sync of a tenant and of the platform.
"""
