"""Renders a stack without a cluster: every object that `pulumi up` would apply, from the very components of the update.

Encrypted values stay encrypted: each is shown as a keyed digest of its encrypted form.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.code import code_problems
from flux_tenancy.components.stack.cluster.findings import offline_preflight
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import StackName, read_project_file
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.stack.platform import register_platform
from flux_tenancy.components.tenant.component import TENANT_COMPONENT
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.review.render.facts import stack_facts
from flux_tenancy.review.render.recorder import GENERATED, Registered, record
from flux_tenancy.review.render.rendered import PLATFORM, Render, RenderedObject
from flux_tenancy.review.render.written import read_written

TARGET = "pulumi:providers:kubernetes"
"""The type of the object that says for which cluster a stack is."""
_PROVIDERS = "pulumi:"


def render_stack(project: Path, stack: str) -> Render:
    """Render one stack; arguments and errors are those of `load_and_render`."""
    return load_and_render(project, stack)[0]


def rendered_files(project: Path, stack: str) -> Render:
    """Render one stack from its files, whatever packages they require; otherwise as `render_stack`."""
    return _load_and_render(project, stack)[0]


def load_and_render(project: Path, stack: str, tenant: str = "") -> tuple[Render, StackConfig]:
    """Render one stack; returns its configuration, too.

    Args:
        stack: name of the stack, which has a file in it; the render goes by its last part.
        tenant: the only tenant to render, as if the stack had no other; all by default.

    Raises:
        ConfigurationError: with every problem of the stack's files and of its releases, or because other code would run
            than the one that is installed and reviewed.
    """
    if problems := code_problems(project, read_project_file(project).environment):
        raise ConfigurationError(problems)
    return _load_and_render(project, stack, tenant)


def _load_and_render(project: Path, stack: str, tenant: str = "") -> tuple[Render, StackConfig]:
    stack = StackName.parse(stack).stack
    described = read_project_file(project)
    config, file = load_offline(stack, project)
    if tenant:
        config = config.model_copy(update={"tenants": {tenant: config.tenants[tenant]}})
    found = offline_preflight(config, stack, file.name, project)
    resources = record(lambda: register_platform(config, found, {}) and None, described.name, stack)
    # The chart's path differs between machines, its digest does not.
    charts = [found.chart, found.capsule.chart if found.capsule else None]
    chart = {each.path: f"sha256:{Path(each.path).stem}" for each in charts if each is not None}
    objects = [_rendered(each, chart) for each in resources if not each.type.startswith(_PROVIDERS)]
    facts = stack_facts(config, read_written(stack, project), project)
    return Render.of(stack, [_target(config.cluster), *objects], facts), config


def _target(cluster: ClusterConfig) -> RenderedObject:
    """The cluster that the stack is for: the same objects in another cluster are another change."""
    content = cluster.kubeconfig_content
    named = {
        "context": cluster.context,
        "kubeconfig": cluster.kubeconfig,
        "kubeconfigContent": content.get_secret_value() if content else None,
        "uid": cluster.uid,
    }
    properties = {key: value for key, value in named.items() if value is not None}
    return RenderedObject(
        PLATFORM, TARGET, "cluster", {"kind": "Cluster", "metadata": {"name": "cluster"}, "properties": properties}
    )


def _rendered(resource: Registered, chart: Mapping[str, str]) -> RenderedObject:
    manifest = dict(resource.properties)
    if "apiVersion" in manifest:
        # As the provider does for an object without a name.
        manifest["metadata"] = {"name": resource.name} | manifest["metadata"]
        if manifest["kind"] == "Secret":
            manifest = _readable(manifest)
    else:
        if "chart" in manifest:
            manifest["chart"] = chart[manifest["chart"]]
        namespace = {"namespace": manifest["namespace"]} if "namespace" in manifest else {}
        kind = resource.type.rpartition(":")[2]
        manifest = {"kind": kind, "metadata": {"name": resource.name} | namespace, "properties": manifest}
    return RenderedObject(_owner(resource, manifest), resource.type, resource.name, manifest, resource.protected)


def _readable(secret: Manifest) -> Manifest:
    """A Secret with its entries as text, so that a reader sees what is public and what is sealed."""
    data = secret.get("data")
    if not isinstance(data, Mapping):
        return secret  # generated when first applied
    text = {key: value if value == GENERATED else b64decode(value).decode() for key, value in data.items()}
    return {key: value for key, value in secret.items() if key != "data"} | {"stringData": text}


def _owner(resource: Registered, manifest: Manifest) -> str:
    kind, name = resource.parent
    if kind == TENANT_COMPONENT:
        return name
    labels = manifest["metadata"].get("labels") or {}
    return str(labels.get(TENANT_LABEL, PLATFORM))
