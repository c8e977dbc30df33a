"""A stack that a Pulumi program describes itself: the arguments of the components, beside a cluster of that program.

Names, namespaces, sources and policies are checked against each other before anything is registered, so the description
is plain data. The cluster is not asked before an update, so it may be an output of a resource of the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pulumi

from flux_tenancy.components.cluster.client import ClusterUnavailable, connect
from flux_tenancy.components.cluster.config import ClusterConfig
from flux_tenancy.components.cluster.hooks import before_changes, hooked
from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.engine.log import leave_out_debugging, run_error
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.git import git_access
from flux_tenancy.components.installs.flux import FluxInstall, FluxInstallArgs
from flux_tenancy.components.installs.kyverno import KyvernoInstall, KyvernoInstallArgs
from flux_tenancy.components.policies.component import KyvernoPolicies, NativePolicies, PoliciesArgs
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.policies.kyverno_only import kyverno_rules
from flux_tenancy.components.recovery.missing_namespaces import LostNamespaces
from flux_tenancy.components.stack.checks.flux_specs import spec_problems
from flux_tenancy.components.stack.cluster.preflight import read_releases
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.stack.loading import load_sections
from flux_tenancy.components.stack.plan import Plan, stack_plan
from flux_tenancy.components.stack.platform import access_of_people
from flux_tenancy.components.stack.policy_engines import enabled_policies, label_guards, onboarding_rights
from flux_tenancy.components.stack.stack_facts import stack_facts
from flux_tenancy.components.tenant import TenantArgs
from flux_tenancy.components.tenant.leaving.deletion import Offboarding
from flux_tenancy.components.tenant.quotas import QuotaHooks, QuotaStatus
from flux_tenancy.components.tenant.role import tenant_role

if TYPE_CHECKING:
    from kubernetes import client

    from flux_tenancy.components.stack.config import StackConfig
    from flux_tenancy.components.vocabulary.manifests import Manifest

NAME = "describe()"
"""What messages name in place of a stack's file."""
UNAVAILABLE = Wording("FT-CFG-851", "is not available in a program of your own", "{remedy} (docs/components.md)")
_TEMPLATE = "use the program of the project template"
_UNAVAILABLE: Mapping[tuple[str, ...], str] = {
    ("cluster",): "give describe() the kubeconfig, and the components the provider",
    ("capsule",): _TEMPLATE,
    ("flux", "sync"): _TEMPLATE,
    ("flux", "impersonate"): _TEMPLATE,
}
UNAVAILABLE_SECTIONS = frozenset(path[0] for path in _UNAVAILABLE if len(path) == 1)
# Its errors and its previewers are those of a stack without a `cluster` section.
_LATER = {"kubeconfigContent": "known to the update"}


def describe(
    sections: Mapping[str, Any], kubeconfig: pulumi.Input[str], project: Path | str | None = None
) -> Description:
    """Check the description of a platform, and make the arguments of its components.

    Args:
        sections: the sections of a stack's file except `cluster` (docs/configuration.md), with complete tenants: their
            base files are not read.
        kubeconfig: content of a kubeconfig, as YAML or JSON; its current context is used. It may be an output of a
            resource that the same program registers: only resource hooks connect to the cluster.
        project: folder that paths in `sections` are relative to; by default, the current one.

    Raises:
        RunError: with every problem of the description and of its releases; nothing was registered.
    """
    leave_out_debugging()
    folder = Path(project or Path.cwd())
    try:
        return Description(_read(sections, folder), kubeconfig, folder)
    except ConfigurationError as error:
        raise pulumi.RunError(str(error)) from None


class Description:
    """The arguments of the components of one platform; see `describe`.

    Args:
        config: the platform.
        kubeconfig: content of a kubeconfig.
        project: folder that paths in `config` are relative to.

    Raises:
        ConfigurationError: a release cannot be read, or has another digest.
    """

    def __init__(self, config: StackConfig, kubeconfig: pulumi.Input[str], project: Path) -> None:
        release, self._chart, _, problems = read_releases(config, NAME, project)
        problems += spec_problems(config, release or (), NAME, NAME)
        if problems:
            raise ConfigurationError(problems)
        assert release is not None  # Otherwise it is a problem.
        self._config, self._release = config, release
        self._api = cast("client.ApiClient", _LateClient(kubeconfig))

    @property
    def flux(self) -> FluxInstallArgs:
        """The arguments of FluxInstall."""
        return FluxInstallArgs(self._config.flux, self._release, facts=stack_facts(self._config))

    @property
    def kyverno(self) -> KyvernoInstallArgs:
        """The arguments of KyvernoInstall.

        Raises:
            RunError: the description has no section `kyverno`.
        """
        config = self._config
        if config.kyverno is None:
            raise run_error(Message("FT-CFG-852", f"{NAME}: kyverno is missing", "add the section"))
        assert self._chart is not None  # It is read for every Kyverno.
        return KyvernoInstallArgs(config.kyverno, self._chart, self._api, kyverno_rules(config.policies, config.flux))

    def native_policies(self, flux: FluxInstall) -> PoliciesArgs:
        """The arguments of NativePolicies, which are registered after Flux."""
        return self._policies(PolicyEngine.NATIVE, flux, None)

    def kyverno_policies(self, flux: FluxInstall, kyverno: KyvernoInstall) -> PoliciesArgs:
        """The arguments of KyvernoPolicies, which are registered after Flux and once Kyverno serves."""
        return self._policies(PolicyEngine.KYVERNO, flux, kyverno)

    def tenants(self, *policies: NativePolicies | KyvernoPolicies) -> dict[str, TenantArgs]:
        """The arguments of each Tenant by name; tenants are changed only once the policies are enforced.

        Args:
            policies: the policies of each engine that `policies.engine` names.

        Raises:
            RunError: the policies of an engine are missing.
        """
        missing = self.engines - {each.ENGINE for each in policies}
        if missing:
            engines = " and ".join(sorted(missing))
            raise run_error(
                Message(
                    "FT-CFG-853",
                    f"tenants() lacks the policies of policies.engine: {engines}",
                    "register them and give them to tenants(), so that no tenant is unguarded",
                )
            )
        in_force = before_changes([each.in_force for each in policies])
        hooks = hooked(lambda _: in_force, QuotaHooks(QuotaStatus(self._api), self._plan.tenants.values()).of)
        after = pulumi.ResourceOptions(depends_on=[each.last for each in policies])

        def guarded(manifest: Manifest) -> pulumi.ResourceOptions:
            return pulumi.ResourceOptions.merge(hooks(manifest), after)

        offboarding = Offboarding(self._api, self._config.active_tenants, None)
        lost = LostNamespaces(State({}), existing=None)
        return {
            name: TenantArgs(scope, self._plan.tenants[name], offboarding, lost, guarded)
            for name, scope in self._plan.scopes.items()
        }

    @property
    def engines(self) -> set[PolicyEngine]:
        """The engines of `policies.engine`; the policies of each have to be registered."""
        engine = self._config.policies.engine
        wanted = {PolicyEngine.NATIVE: engine.native, PolicyEngine.KYVERNO: engine.kyverno}
        return {each for each, is_wanted in wanted.items() if is_wanted}

    @cached_property
    def _plan(self) -> Plan:
        return stack_plan(self._config, pulumi.get_stack(), git_access(self._config.git_sources))

    def _policies(self, engine: PolicyEngine, flux: FluxInstall, kyverno: KyvernoInstall | None) -> PoliciesArgs:
        config = self._config
        # One component registers what all tenants share.
        first = engine is PolicyEngine.NATIVE or not config.policies.engine.native
        shared = [
            tenant_role(config.tenancy),
            *access_of_people(config),
            *onboarding_rights(config),
            *label_guards(config),
        ]
        return PoliciesArgs(
            enabled_policies(config, engine, self._release),
            self._api,
            ready=[kyverno.serving] if kyverno else [],
            shared=shared if first else [],
            after=[*flux.last, *([kyverno.release] if kyverno else [])],
        )


def _read(sections: Mapping[str, Any], project: Path) -> StackConfig:
    problems = [
        Problem(NAME, ".".join(path), UNAVAILABLE(remedy=remedy))
        for path, remedy in _UNAVAILABLE.items()
        if _has(sections, path)
    ]
    if problems:
        raise ConfigurationError(problems)
    known = {**sections, "cluster": _LATER}
    # A program may have its secrets from anywhere, so any value could be one, and no message shows it.
    config = load_sections(known, known.keys(), project, StackFile(NAME, {}, imports=True), bases=False)
    if config.policies.engine is PolicyEngine.NONE:
        remedy = "set it to native, kyverno or both"
        raise ConfigurationError([Problem(NAME, "policies.engine", UNAVAILABLE(remedy=remedy).of("none"))])
    return config


def _has(value: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value is not None


class _LateClient:
    """A client for a cluster whose kubeconfig may be known only to the update; hooks use it, which run when it is."""

    def __init__(self, kubeconfig: pulumi.Input[str]) -> None:
        self._content: str | None = None
        self._client: client.ApiClient | None = None
        pulumi.Output.from_input(kubeconfig).apply(self._learn)

    def _learn(self, content: str) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        if self._client is None:
            if self._content is None:
                raise ClusterUnavailable(
                    "kubeconfig", Message("FT-CFG-854", "is not known yet", "run the update again")
                )
            cluster = ClusterConfig.model_validate({"kubeconfigContent": self._content})
            self._client = connect(cluster, Path())
        return getattr(self._client, name)
