"""The benchmark: reviews, the real program against `kubectl`, policies against none, and a tenant beside another."""
