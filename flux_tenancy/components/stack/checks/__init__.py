"""Checks across sections: values that are valid by themselves, but do not go together.

Put here what the configuration alone can decide, one module a feature; what needs the cluster is in `cluster`.
"""
