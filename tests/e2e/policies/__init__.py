"""One stack with everything that Kyverno alone can do: tests of its features, each with namespaces of its own."""
