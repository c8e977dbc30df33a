"""What the program asks Pulumi itself: the command line above it, the state of earlier updates, update plans.

Put here what would be the same for a stack that has nothing to do with Kubernetes.
"""
