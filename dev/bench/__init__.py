"""The measurements: reviews, the program against `kubectl`, policies against none, and a tenant beside another.

Put here what `make bench` measures; docs/sizing.md has its results.
"""
