"""Admission that sets the label of its tenant's lane on each Flux object of a tenant; the policy `lane` requires it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.component import read_access
from flux_tenancy.components.cluster.subjects import Subject
from flux_tenancy.components.installs.flux.controller_rights import LANED_RESOURCES
from flux_tenancy.components.policies.policy import Resources
from flux_tenancy.components.policies.policy_files import read_objects
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

SET_LANES = f"{OBJECT_PREFIX}set-lanes"
"""The MutatingAdmissionPolicy and its binding, and the role to read them."""
MUTATING = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
"""Their resources, which only some stacks have."""


def set_lanes(readers: Sequence[Subject] = ()) -> list[Manifest]:
    """The MutatingAdmissionPolicy and its binding; a role for those who preview it.

    Args:
        readers: who may preview and audit the stack.
    """
    policy, binding = read_objects("set-lanes")
    rules = [Resources(group, names).rule("Namespaced") for group, names in LANED_RESOURCES.items()]
    policy["spec"]["matchConstraints"]["resourceRules"] = rules
    role = read_access(SET_LANES, (("admissionregistration.k8s.io", MUTATING),), dict.fromkeys(readers))
    return [policy, binding, *role]
