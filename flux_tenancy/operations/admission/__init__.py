"""What the cluster's admission answers, and which policies are in force there.

Put here what asks the API server by a dry run.
"""
