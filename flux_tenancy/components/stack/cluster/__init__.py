"""Before the first resource: what the cluster, the releases and GitHub must be like, and what is done there first.

Put here a check or a preparation that reads the cluster or the state.
"""
