"""The component package: `pulumi package add <this folder>` (docs/components.md)."""

from flux_tenancy.components.stack.package import serve

serve()
