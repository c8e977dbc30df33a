"""The policy pack of this project: `pulumi preview --policy-pack policy`."""

from pathlib import Path

from flux_tenancy.policy.pack import serve

serve(Path(__file__).parents[1])
