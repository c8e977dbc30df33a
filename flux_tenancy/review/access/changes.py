"""What a change means for access: who may do what, where, that they may not do now, and what they may no longer do."""

from __future__ import annotations

from flux_tenancy.review.access.boundaries import boundary_statements
from flux_tenancy.review.access.openings import opening_statements
from flux_tenancy.review.access.policies import policy_statements
from flux_tenancy.review.access.rights import rights_statements
from flux_tenancy.review.access.rules import rbac_access
from flux_tenancy.review.access.sentences import Joined, join
from flux_tenancy.review.render.rendered import Render


def access_changes(before: Render | None, after: Render | None) -> tuple[Joined, ...]:
    """What a stack's subjects may do after a change that they may not do before it, and the reverse, widest first.

    Rights come from roles and bindings; what narrows them from the policies, the namespaces and Flux's flags. Only
    objects of the render count: what others have bound in the cluster is not in it.

    Args:
        before: what the stack applies now; None for a new stack.
        after: what it would apply; None for a stack that is removed.
    """
    old, new = (rbac_access(each.objects if each else ()) for each in (before, after))
    old_objects, new_objects = (
        [o for o in each.objects if o.is_kubernetes] if each else [] for each in (before, after)
    )
    statements = [
        *rights_statements(old, new),
        *policy_statements(before, after),
        *boundary_statements(old_objects, new_objects, old, new),
        *opening_statements(old_objects, new_objects),
    ]
    staying = set(old.tenants.by_name) & set(new.tenants.by_name) or set(old.tenants.by_name)
    return (
        *join((each for each in statements if each.widened), new.tenants, set(new.tenants.by_name)),
        *join((each for each in statements if not each.widened), old.tenants, staying),
    )
