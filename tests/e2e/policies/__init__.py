"""One stack with everything that only Kyverno offers; each test has its own namespaces."""
