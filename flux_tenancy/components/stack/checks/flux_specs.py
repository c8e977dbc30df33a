"""Checks of what is passed through to Flux's objects: fields that the platform sets, and the release's definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from flux_tenancy.components.config.passed import owned_fields
from flux_tenancy.components.installs.flux.release import Definitions
from flux_tenancy.components.stack.checks.syncs import sync_paths
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.vocabulary.names import GIT_REPOSITORY, HELM_RELEASE, KUSTOMIZATION, PLATFORM_META

if TYPE_CHECKING:
    from flux_tenancy.components.config.errors import KeyPath, Problem
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.components.config.section import Section
    from flux_tenancy.components.stack.checks import Check
    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

_WITHIN: Mapping[str, tuple[KeyPath, ...]] = {
    GIT_REPOSITORY: (("ref",),),
    HELM_RELEASE: (("chart", "spec"), ("postRenderers", 0, "kustomize")),
}
"""Where in a `spec` the keys are that the configuration has at the top."""


def spec_problems(config: StackConfig, release: Iterable[Manifest], stack: str, stack_file: str) -> list[Problem]:
    """What the release's definitions refuse of a stack's Flux objects, with the file and the key of each."""
    definitions = Definitions(release, config.flux.version)
    plan = stack_plan(config, stack)
    objects = [("", each) for each in plan.platform]
    objects += [(tenant, each) for tenant, planned in plan.tenants.items() for each in planned]
    sections = dict(_sections(config))
    found: dict[tuple[KeyPath, Message], Problem] = {}
    for owner, each in objects:
        if (owner, each.kind, each.name) not in sections:
            continue
        path, section = sections[owner, each.kind, each.name]
        keys = [field.alias or name for name, field in type(section).model_fields.items()]
        for below, message in definitions.problems(each.manifest, keys):
            for outer in _WITHIN.get(each.kind, ()):
                below = below[len(outer) :] if below[: len(outer)] == outer else below
            # Once for a source that several tenants share.
            found.setdefault(((*path, *below), message), config.problem((*path, *below), message, stack_file))
    return list(found.values())


def _sections(config: StackConfig) -> Iterator[tuple[tuple[str, str, str], tuple[KeyPath, Section]]]:
    """By tenant, or nothing for the platform, kind and name of an object: the section that it is made of."""
    for key, message in config.flux.notifications.items():
        yield from _notification("", f"{PLATFORM_META.name}-{key}", ("flux", "notifications", key), message)
    if (own := config.flux.sync) is not None:
        yield ("", KUSTOMIZATION, PLATFORM_META.name), (("flux", "sync"), own)
        yield ("", GIT_REPOSITORY, PLATFORM_META.name), (("flux", "sync", "source"), own.source)
    for tenant, each in config.active_tenants.items():
        for key, message in config.tenancy.notifications.items():
            yield from _notification(tenant, f"{tenant}-{key}", ("tenancy", "notifications", key), message)
        for key, message in each.notifications.items():
            path = ("tenants", tenant, "notifications", key)
            yield from _notification(tenant, f"{tenant}-{key}", path, message)
        paths = sync_paths(tenant, each)
        for name, sync in each.all_syncs(tenant).items():
            yield (tenant, KUSTOMIZATION, name), (paths[name], sync)
        for name, release in each.releases.items():
            yield (tenant, HELM_RELEASE, name), (("tenants", tenant, "releases", name), release)
        if each.source is not None:
            yield (tenant, GIT_REPOSITORY, tenant), (("tenants", tenant, "source"), each.source)
        for name, source in each.sources.items():
            yield (tenant, source.kind, name), (config.path_of_source(tenant, name), source)


def _notification(
    owner: str, name: str, path: KeyPath, section: Section
) -> Iterator[tuple[tuple[str, str, str], tuple[KeyPath, Section]]]:
    yield from (((owner, kind, name), (path, section)) for kind in ("Alert", "Provider"))


SPEC_CHECKS: tuple[Check, ...] = (owned_fields,)
"""Checks that need no release."""
