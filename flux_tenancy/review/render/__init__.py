"""What a stack would apply, recorded from the program's own components without a cluster, and its digests.

Put here what makes a render complete or faster; what reads one belongs above.
"""
