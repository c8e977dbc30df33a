"""KyvernoPolicies and NativePolicies: tenancy policies, each a folder of YAML, rendered for each admission engine.

Put here what admission refuses, and the probe that proves that it does.
"""
