"""The fields of a Kustomization or HelmRelease that change manifests and check their health, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from components.config.section import Section
from components.sync.build_config import HealthCheck, IgnoreRule, ImageReplacement, Patch
from components.sync.config import SyncOptions
from components.vocabulary.manifests import Manifest

# What Kustomize reads of a patch with a target, and then ignores.
# Source: transformStrategicMerge in api/internal/builtins/PatchTransformer.go of sigs.k8s.io/kustomize
_ANY = "any"


def build_fields(config: SyncOptions, namespace: str | None = None) -> Manifest:
    """The fields of a Kustomization's `spec`; those that are not configured are absent.

    Args:
        config: how the folder is applied.
        namespace: of objects in `healthChecks` that name none.
    """
    spec: Manifest = {
        "commonMetadata": given(config.common_metadata) if config.common_metadata else None,
        "components": list(config.components),
        "force": config.force,
        "healthCheckExprs": [given(each) for each in config.health_check_exprs],
        "healthChecks": [_health_check(each, namespace) for each in config.health_checks],
        "ignore": ignore_rules(config.ignore),
        "ignoreMissingComponents": config.ignore_missing_components,
        "images": image_replacements(config.images),
        "namePrefix": config.name_prefix,
        "nameSuffix": config.name_suffix,
        "patches": patches(config.patches),
        "postBuild": given(config.post_build) if config.post_build else None,
    }
    return {key: value for key, value in spec.items() if value}


def given(section: Section) -> Manifest:
    """The values of a section by their keys in the files, without those that are absent or empty."""
    values = section.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    return {key: value for key, value in values.items() if value not in ({}, [])}


def patches(configured: Iterable[Patch]) -> list[Manifest]:
    """Patches as Flux takes them, with the patch itself as a YAML document."""
    return [_patch(each) for each in configured]


def image_replacements(configured: Iterable[ImageReplacement]) -> list[Manifest]:
    """Replacements of images as Flux takes them."""
    return [given(each) for each in configured]


def ignore_rules(configured: Iterable[IgnoreRule]) -> list[Manifest]:
    """Rules for drift as Flux takes them."""
    return [given(each) for each in configured]


def _patch(patch: Patch) -> Manifest:
    target = given(patch.target) if patch.target is not None else None
    if patch.merge is None:
        # A value of an operation may be null.
        content: Any = [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in patch.operations]
    else:
        content = patch.merge if target is None else _named(patch.merge)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return {"patch": text} | ({"target": target} if target is not None else {})


def _named(patch: Manifest) -> Manifest:
    metadata = patch.get("metadata") or {}
    identity = {"apiVersion": patch.get("apiVersion", "v1"), "kind": patch.get("kind", _ANY)}
    return patch | identity | {"metadata": {"name": _ANY} | metadata}


def _health_check(check: HealthCheck, namespace: str | None) -> Manifest:
    found = given(check)
    return found if check.namespace or namespace is None else found | {"namespace": namespace}
