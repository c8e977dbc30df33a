"""The whole stack: reading and checking its files, the checks before the first resource, and its outputs.

Put here what needs more than one section of the configuration.
"""
