"""How large the policies let one object of a tenant be."""

from __future__ import annotations

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.tenant.bounds import TenantBounds
from flux_tenancy.components.tenant.stored import LargestObjects

_KIB = 1024
# The API server refuses what is larger: etcd's `--max-request-bytes`.
_OF_ETCD = 1536 * _KIB


def largest_objects(config: PoliciesConfig, own: TenantBounds | None = None) -> LargestObjects:
    """How large an object may be, by its kind; where no policy bounds it, as etcd accepts it.

    Args:
        config: the stack's policies.
        own: the bounds of one tenant.
    """
    sizes = config.maximum_sizes
    release = (own.maximum_release_size if own else None) or config.maximum_release_size
    # Base64 has four characters for three bytes; `object` bounds the rest of a release's Secret.
    stored_release = -(-release // 3) * 4 + sizes.object
    if config.engine is PolicyEngine.NONE or config.mode_of(PolicyName("object-size")) is not PolicyMode.ENFORCE:
        return LargestObjects(_OF_ETCD, _OF_ETCD, _OF_ETCD)
    if config.mode_of(PolicyName.RELEASE_SIZE) is not PolicyMode.ENFORCE:
        stored_release = _OF_ETCD // _KIB
    return LargestObjects(sizes.data * _KIB, max(sizes.data, stored_release) * _KIB, sizes.object * _KIB)
