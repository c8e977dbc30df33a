"""KyvernoPolicies and NativePolicies: tenancy policies, each a folder of YAML, rendered for each admission engine.

Put here what admission refuses, and the probe that proves that it does.
"""

from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies, PoliciesArgs
from flux_tenancy.components.policies.config import PoliciesConfig

__all__ = ["KyvernoPolicies", "NativePolicies", "PoliciesArgs", "PoliciesConfig"]
