"""The product: packages of which each imports only those below it (`make lint`; docs/architecture.md)."""
