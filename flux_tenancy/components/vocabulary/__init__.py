"""Names, labels and API versions of Flux and of the platform, metadata of objects, and manifests as plain data.

Put here what identifies an object in the cluster, and nothing that decides or creates.
"""
