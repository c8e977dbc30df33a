"""The newest releases of Flux and Kyverno, and pinning them in a stack.

Put here what asks upstream for a release.
"""
