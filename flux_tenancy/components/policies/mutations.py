"""Admission that changes objects of tenants before they are judged: labels of lanes, and what they leave out."""

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

MUTATING = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
"""Their resources, which only some stacks have."""


def set_lanes(readers: Sequence[Subject] = ()) -> list[Manifest]:
    """Sets the label of its tenant's lane on each Flux object of a tenant; the policy `lane` requires it.

    Args:
        readers: who may preview and audit the stack.
    """
    policy, *others = _mutation("set-lanes", readers)
    rules = [Resources(group, names).rule("Namespaced") for group, names in LANED_RESOURCES.items()]
    policy["spec"]["matchConstraints"]["resourceRules"] = rules
    return [policy, *others]


def set_accounts(readers: Sequence[Subject] = ()) -> list[Manifest]:
    """Sets the account of its tenant in each Kustomization and HelmRelease of a tenant that names none.

    Args:
        readers: as of `set_lanes`.
    """
    return _mutation("set-accounts", readers)


def pod_defaults(readers: Sequence[Subject] = ()) -> list[Manifest]:
    """Fills in what the Pod Security Standard `restricted` requires and pods leave out.

    Args:
        readers: as of `set_lanes`.
    """
    return _mutation("pod-defaults", readers)


def _mutation(name: str, readers: Sequence[Subject]) -> list[Manifest]:
    """A MutatingAdmissionPolicy and its binding; a role to read them for those who preview the stack."""
    rules = (("admissionregistration.k8s.io", MUTATING),)
    return [*read_objects(name), *read_access(f"{OBJECT_PREFIX}{name}", rules, dict.fromkeys(readers))]
