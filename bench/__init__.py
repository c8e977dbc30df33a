"""The benchmark: the real program against `kubectl` with the very same objects on the same cluster."""
