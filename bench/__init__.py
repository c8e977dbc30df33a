"""The benchmark: the real program against `kubectl` with the very same objects, and policies against none, neighbours."""
