"""The benchmark: the program against `kubectl`, policies against none, and what a tenant costs its neighbours."""
