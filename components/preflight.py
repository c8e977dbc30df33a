"""What must hold before the first resource exists: a release that can be trusted, and the right cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubernetes import client

from components.configuration import ConfigurationError, Problem, StackConfig, TenantConfig
from components.flux.release import ReleaseError, read_release
from components.flux.support import OLDEST_KUBERNETES, minor
from components.kubernetes_api import ClusterFacts, ClusterUnavailable, connect, read_facts
from components.manifests import Manifest
from components.tenant_objects import TENANT_LABEL


@dataclass(frozen=True)
class Preflight:
    """What was found before the first resource.

    Attributes:
        release: the release's objects, digest checked.
        cluster: who the cluster is.
        api: a client for it.
    """

    release: list[Manifest]
    cluster: ClusterFacts
    api: client.ApiClient


def preflight(config: StackConfig, recorded_uid: str | None, stack: str, project: Path) -> Preflight:
    """Check the release and the cluster.

    Args:
        config: the stack.
        recorded_uid: identity of the cluster that earlier updates of this stack went to, if there were any.
        stack: name of the stack.
        project: folder of the Pulumi project.

    Raises:
        ConfigurationError: with everything that is wrong with either.
    """
    stack_file = f"Pulumi.{stack}.yaml"
    problems: list[Problem] = []
    try:
        release = read_release(config.flux, project)
    except ReleaseError as error:
        problems.append(error.as_problem(stack_file))
    try:
        api = connect(config.cluster, project)
        cluster = read_facts(api)
        problems += cluster_problems(config, cluster, recorded_uid, stack_file)
    except ClusterUnavailable as error:
        problems.append(Problem(stack_file, f"cluster.{error.key}", str(error)))
    if problems:
        raise ConfigurationError(problems)
    return Preflight(release, cluster, api)


def cluster_problems(
    config: StackConfig, cluster: ClusterFacts, recorded_uid: str | None, stack_file: str
) -> list[Problem]:
    """Why this cluster is not the one to apply this stack to."""
    problems = []
    if config.cluster.uid is not None and cluster.uid != config.cluster.uid:
        problems.append(
            Problem(
                stack_file,
                "cluster.uid",
                f"expects the cluster {config.cluster.uid}, but the kubeconfig leads to {cluster.uid}; correct "
                "cluster.kubeconfig or cluster.context, or the uid if the cluster was replaced",
            )
        )
    elif config.cluster.uid is None and recorded_uid is not None and cluster.uid != recorded_uid:
        problems.append(
            Problem(
                stack_file,
                "cluster",
                f"this stack was applied to the cluster {recorded_uid}, but the kubeconfig leads to {cluster.uid}; "
                "correct cluster.kubeconfig or cluster.context, or set cluster.uid to the new one if the cluster was "
                "replaced",
            )
        )
    oldest = OLDEST_KUBERNETES[minor(config.flux.version)]
    if minor(cluster.version) < oldest:
        problems.append(
            Problem(
                stack_file,
                "flux.version",
                f"Flux {config.flux.version} needs Kubernetes {oldest[0]}.{oldest[1]} or later, the cluster runs "
                f"{cluster.version}; upgrade the cluster or choose an older Flux",
            )
        )
    return problems + _foreign_namespaces(config.tenants, cluster.namespaces, stack_file)


def _foreign_namespaces(
    tenants: Mapping[str, TenantConfig], existing: Mapping[str, Mapping[str, str]], stack_file: str
) -> list[Problem]:
    """Namespaces of a tenant that exist already and are not the tenant's (threat 27)."""
    return [
        Problem(
            stack_file,
            f"tenants.{tenant}",
            f"the namespace {namespace!r} exists in the cluster and is not this tenant's; choose another name, or hand "
            f"it over with `kubectl label namespace {namespace} {TENANT_LABEL}={tenant}`",
        )
        for tenant, config in tenants.items()
        for namespace in config.namespace_names
        if namespace in existing and existing[namespace].get(TENANT_LABEL) != tenant
    ]
