"""The rules that reviewers hold every stack to, as pure functions over what it would apply, and their waivers.

They are in `review`, since nothing that is applied depends on them; `flux-tenancy review policy` runs them over an
offline render. What the configuration itself refuses (`components.stack.loading`) is held by a rule, too, where the
damage would be great: rules see what the builders made of it.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.types import is_reserved
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, arguments_for, flags_for, unknown_to
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.installs.flux.release import component_of, flags_in, version_of
from flux_tenancy.components.keys.armor import has_private_key, is_single_block
from flux_tenancy.components.keys.signing_keys import PGP_SUFFIX, SSH_SUFFIX
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.rbac.rights import (
    BINDINGS,
    ROLES,
    KubernetesRole,
    RoleReference,
    Rules,
    allows_everything,
    permissions,
    reference_of,
    role_of,
)
from flux_tenancy.components.rbac.subjects import subjects_of
from flux_tenancy.components.stack.cluster.deletions import TAKEN_ALONG
from flux_tenancy.components.stack.config import RuleName, StackConfig, Waiver, is_production
from flux_tenancy.components.tenant.further_access import TenantAccess, further_access
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of
from flux_tenancy.components.vocabulary.names import TENANT_LABEL, Controller
from flux_tenancy.review.render.rendered import GENERATED, PLATFORM, RenderedObject

WAIVE = "or agree on a waiver with a reason and an expiry date in review.waivers:"
"""The end of a remedy, before the name of the rule."""


@dataclass(frozen=True)
class RuleSetting:
    """A stack as the rules see it.

    Attributes:
        production: whether it is a production environment.
        engine: what enforces its policies.
        weakened: the policies that refuse nothing: by the key of the stack file that says so, its mode.
        locked_down: whether Flux has the multi-tenant profile.
        default_account: the service account that Flux uses for objects that name none.
        waivers: the rules that the stack may break.
    """

    production: bool = False
    engine: PolicyEngine = PolicyEngine.NATIVE
    weakened: Mapping[str, PolicyMode] = field(default_factory=dict)
    locked_down: bool = True
    default_account: str = "default"
    waivers: tuple[Waiver, ...] = ()

    @classmethod
    def of(cls, stack: str, config: StackConfig) -> RuleSetting:
        """The setting of a stack."""
        return cls(
            production=is_production(stack, config),
            engine=config.policies.engine,
            weakened=dict(_weakened(config.policies)),
            locked_down=config.flux.profile is Profile.MULTI_TENANT,
            default_account=config.flux.default_service_account,
            waivers=config.review.waivers,
        )


def _weakened(policies: PoliciesConfig) -> Iterator[tuple[str, PolicyMode]]:
    if policies.mode is not PolicyMode.ENFORCE:
        yield "policies.mode", policies.mode
    for name, mode in policies.modes.items():
        if mode is not PolicyMode.ENFORCE:
            yield f"policies.modes.{name}", mode


@dataclass(frozen=True)
class Finding:
    """One thing that breaks a rule.

    Attributes:
        owner: the tenant that it belongs to, or `review.rendered.PLATFORM`.
        resource: what breaks it, e.g. `RoleBinding apps/dev-team-reconciler` or `policies.mode`; on one line and safe
            for a terminal.
        message: what is wrong and what to do, with its code.
        waiver: the waiver that allows it, or None.
    """

    rule: RuleName
    owner: str
    resource: str
    message: Message
    waiver: Waiver | None = None


def resource_of(subject: RenderedObject) -> str:
    """How findings and waivers name an object."""
    return printable(f"{subject.kind} {name_of(subject.manifest)}")


def waived(findings: Iterable[Finding], waivers: Iterable[Waiver]) -> tuple[Finding, ...]:
    """The findings, each with the waiver that allows it.

    Args:
        waivers: the waivers of the stack; of several for the same finding, the one that expires last counts.
    """
    lasting = sorted(waivers, key=lambda each: each.expires, reverse=True)

    def allows(waiver: Waiver, finding: Finding) -> bool:
        return waiver.rule is finding.rule and waiver.resource in (None, finding.resource)

    return tuple(
        replace(finding, waiver=next((each for each in lasting if allows(each, finding)), None)) for finding in findings
    )


def as_text(found: Mapping[str, Sequence[Finding]]) -> str:
    """The findings of each stack, those that are not waived first."""
    return "\n".join(line for stack, each in found.items() for line in _of_stack(stack, each))


def as_json(found: Mapping[str, Sequence[Finding]]) -> str:
    """A list with a mapping for each finding; `waiver` is null where there is none."""
    records = [{"stack": stack} | record(finding) for stack, each in found.items() for finding in each]
    return json.dumps(records, indent=2)


def record(finding: Finding) -> dict[str, object]:
    """A finding for programs."""
    waiver = finding.waiver
    return {
        "rule": finding.rule,
        "code": finding.message.code,
        "owner": finding.owner,
        "resource": finding.resource,
        "message": finding.message.sentence,
        "remedy": finding.message.remedy,
        "waiver": {"reason": waiver.reason, "expires": str(waiver.expires)} if waiver else None,
    }


def described(finding: Finding) -> str:
    """The rule that is broken, whose object breaks it, and how, on one line."""
    owner = "" if finding.owner == PLATFORM else f" of tenant {printable(finding.owner)}"
    return f"{finding.rule}{owner}: {finding.resource} {coded(finding.message.sentence)}"


def waiver_text(waiver: Waiver) -> str:
    """How long and why something is waived, on one line."""
    return f"waived until {waiver.expires}: {printable(waiver.reason)}"


def _of_stack(stack: str, found: Iterable[Finding]) -> Iterator[str]:
    breaking = [finding for finding in found if finding.waiver is None]
    waived = [finding for finding in found if finding.waiver is not None]
    count = f"{len(breaking) or 'no'} finding{'s' if len(breaking) != 1 else ''}"
    yield f"{stack}: {count}{f', {len(waived)} waived' if waived else ''}"
    for finding in [*breaking, *waived]:
        yield f"  {described(finding)}"
        if finding.waiver is None:
            yield f"    remedy: {finding.message.remedy}"
        else:
            yield f"    {waiver_text(finding.waiver)}"


_ALL_RIGHTS: Rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
# As `components.config.types` writes it; a render has it as text.
_SEALED = r"<encrypted \S+ [0-9a-f]{16}>"
_STAND_IN = re.compile(f"{_SEALED}|{re.escape(GENERATED)}")
# Entries of Flux's Secrets that are no secret. Source: https://fluxcd.io/flux/components/source/gitrepositories/
_PUBLIC_ENTRIES = frozenset(
    {
        "ca.crt",
        "githubAppBaseURL",
        "githubAppID",
        "githubAppInstallationID",
        "githubAppInstallationOwner",
        "identity.pub",
        "known_hosts",
        "username",
    }
)
_PGP_PUBLIC_KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
# As cosign writes it. Source: https://fluxcd.io/flux/components/source/ocirepositories/#public-keys-verification
_COSIGN_SUFFIX = ".pub"


def admin_bindings(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Bindings in tenants' namespaces, or of tenants' accounts, to a role that allows everything."""
    tenants = _tenants(objects)
    rules = {reference_of(each.manifest): each.manifest.get("rules") or () for each in objects if each.kind in ROLES}
    rules["ClusterRole", "", KubernetesRole.CLUSTER_ADMIN] = _ALL_RIGHTS

    def all_or_none(role: RoleReference) -> Rules:
        return _ALL_RIGHTS if allows_everything(permissions(rules.get(role, ()))) else []

    by_name = {(each.kind, each.namespace, each.name): each for each in objects if each.kind in BINDINGS}
    within = {each.key for each in by_name.values() if each.kind == "RoleBinding" and each.namespace in tenants}
    for binding in by_name.values():
        role = role_of(binding.manifest)
        if binding.key in within and all_or_none(role):
            who = ", ".join(words for _, words in subjects_of(binding.manifest)) or "nobody yet"
            through = f"{role[0]} {printable(role[2])}"
            yield _all_rights(binding, tenants[binding.namespace], who, binding.namespace, through)
    accesses = {name: TenantAccess(namespaces, ()) for name, namespaces in _by_tenant(tenants).items()}
    manifests = [each.manifest for each in by_name.values()]
    for tenant, further in further_access(accesses, manifests, all_or_none).items():
        for found in further:
            binding = by_name[found.kind, found.namespace, found.name]
            if binding.key in within:
                continue
            yield _all_rights(binding, tenant, f"{found.subject} of the tenant", found.namespace, found.role)


def writable_deploy_keys(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Deploy keys that are not read-only."""
    for each in objects:
        if each.type != DEPLOY_KEY_TYPE:
            continue
        properties = each.manifest["properties"]
        if properties.get("readOnly") is not True:
            message = Message(
                "FT-REV-103",
                f"is a deploy key that can write to the repository {printable(str(properties.get('repository')))}",
                "set readOnly to true",
            )
            yield Finding(RuleName.WRITABLE_DEPLOY_KEY, each.owner, resource_of(each), message)


def plain_secrets(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Secrets with content that is neither encrypted nor public."""
    for each in objects:
        if each.kind != "Secret" or not each.is_kubernetes:
            continue
        if exposed := [entry for entry, text in _entries(each.manifest) if not _may_be_read(entry, text)]:
            message = Message(
                "FT-REV-104",
                f"has {printable(', '.join(sorted(exposed)))} in plain text, readable in previews and in the state",
                "mark the data as secret (`pulumi.Output.secret`), and set the value with `pulumi config set --secret`",
            )
            yield Finding(RuleName.PLAIN_SECRET, each.owner, resource_of(each), message)


def reserved_namespaces(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Namespaces of tenants whose names belong to the cluster's own components."""
    for namespace, tenant in _tenants(objects).items():
        if is_reserved(namespace):
            message = Message(
                "FT-REV-105",
                f"puts tenant {printable(tenant)} into the namespace {printable(namespace)}, which belongs to "
                "the cluster's own components",
                "choose another namespace",
            )
            yield Finding(RuleName.RESERVED_NAMESPACE, tenant, printable(f"Namespace {namespace}"), message)


def _tenants(objects: Iterable[RenderedObject]) -> dict[str, str]:
    """The tenant of each namespace."""
    found = {}
    for each in objects:
        if each.kind == "Namespace":
            tenant = (each.manifest["metadata"].get("labels") or {}).get(TENANT_LABEL)
            if tenant or each.owner != PLATFORM:
                found[each.name] = tenant or each.owner
    return found


def _by_tenant(tenants: Mapping[str, str]) -> dict[str, list[str]]:
    namespaces: dict[str, list[str]] = defaultdict(list)
    for namespace, tenant in tenants.items():
        namespaces[tenant].append(namespace)
    return namespaces


def _all_rights(binding: RenderedObject, tenant: str, who: str, namespace: str, role: str) -> Finding:
    reach = f"in the namespace {printable(namespace)}" if namespace else "in the whole cluster"
    message = Message(
        "FT-REV-101",
        f"grants {who} all rights {reach}, through {role}",
        f"bind a role with fewer rights (tenants.{printable(tenant)}.role), {WAIVE} {RuleName.ADMIN_BINDING}",
    )
    return Finding(RuleName.ADMIN_BINDING, tenant, resource_of(binding), message)


def _entries(secret: Manifest) -> Iterator[tuple[str, str]]:
    """The entries of a Secret as text; none where its data is not known before an update."""
    for key, is_encoded in (("data", True), ("stringData", False)):
        data = secret.get(key)
        if isinstance(data, Mapping):
            yield from ((entry, _decoded(text) if is_encoded else str(text)) for entry, text in data.items())


def _decoded(text: object) -> str:
    try:
        return b64decode(str(text), validate=True).decode(errors="replace")
    except ValueError:  # a stand-in, not base64
        return str(text)


def _may_be_read(entry: str, text: str) -> bool:
    if _STAND_IN.fullmatch(text.strip()):
        return True
    if has_private_key(text):
        return False
    if entry in _PUBLIC_ENTRIES or entry.endswith(SSH_SUFFIX):
        return True
    if entry.endswith(_COSIGN_SUFFIX):
        return is_single_block(text, "PUBLIC KEY")
    return entry.endswith(PGP_SUFFIX) and text.strip().startswith(_PGP_PUBLIC_KEY)


_GATES = FEATURE_GATES.strip("-=")


def lockdown_flags(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Flags of the multi-tenant profile that a controller lacks or does not know, and those that undo it."""
    for each in objects if setting.locked_down else ():
        if each.kind != "Deployment" or (controller := component_of(each.manifest)) is None:
            continue
        version, containers = version_of(each.manifest), each.manifest["spec"]["template"]["spec"]["containers"]
        flags = flags_in(argument for container in containers for argument in container.get("args") or ())
        for message in _messages(controller, flags, setting.default_account, version):
            yield Finding(RuleName.LOCKDOWN_FLAGS, each.owner, resource_of(each), message)


def _messages(controller: Controller, flags: dict[str, str], default_account: str, version: str) -> Iterator[Message]:
    known = flags_for(controller, version)
    gates = _gates(flags.get(_GATES, ""))
    for flag, argument in zip(known, arguments_for(controller, default_account, version), strict=True):
        name, _, value = argument.removeprefix("--").partition("=")
        if name == _GATES:
            gate, _, wanted = value.partition("=")
            is_set = gates.get(gate) == wanted
        else:
            is_set = flags.get(name) == value
        if not is_set:
            yield Message(
                "FT-REV-106",
                f"lacks {argument}, without which a tenant could {flag.purpose}",
                f"remove the argument that overrides it from flux.extraArgs.{controller} (docs/lockdown.md)",
            )
    unknown = dict.fromkeys(unknown_to(controller, version), f"{controller} does not support it and would not start")
    forbidden = {name: why for name, why in FORBIDDEN_FLAGS.items() if flags.get(name, "") not in ("", "false")}
    for name, why in sorted((unknown | forbidden).items()):
        if name in flags:
            yield Message(
                "FT-REV-108",
                f"has --{printable(name)}: {why}",
                f"remove it from flux.extraArgs.{controller} (docs/lockdown.md)",
            )


def _gates(value: str) -> dict[str, str]:
    pairs = (gate.partition("=") for gate in value.split(","))
    return {name.strip(): setting for name, _, setting in pairs}


def missing_engine(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """A production environment without a policy engine."""
    if setting.production and setting.engine is PolicyEngine.NONE:
        so, wanted = "no admission policy applies to tenants", "native, kyverno or both"
        yield _in_production(RuleName.NO_POLICY_ENGINE, "policies.engine", setting.engine, so, wanted)


def policies_not_enforced(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Policies of a production environment that are audited or off."""
    for key, mode in setting.weakened.items() if setting.production else ():
        yield _in_production(RuleName.POLICY_NOT_ENFORCED, key, mode, "violations are allowed", "enforce")


def _in_production(rule: RuleName, key: str, value: str, so: str, wanted: str) -> Finding:
    message = Message(
        "FT-REV-110", f"is {value} in a production environment, so {so}", f"set {key} to {wanted}, {WAIVE} {rule}"
    )
    return Finding(rule, PLATFORM, key, message)


def protected_deletions(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Finding]:
    """Protected namespaces and CRDs that a change would delete or replace.

    Args:
        before: what is applied now; what it protects counts, so that no change lifts a protection and uses it at once.
    """
    staying = {(each.kind, each.name): each.key for each in after if each.kind in TAKEN_ALONG}
    rule = RuleName.PROTECTED_DELETION
    for each in before:
        key = staying.get((each.kind, each.name))
        if each.protected and key != each.key:
            how, kept = ("deleted", "it") if key is None else ("replaced", "its name in the state and its API version")
            message = Message(
                "FT-REV-111",
                f"is protected and would be {how}, which deletes {TAKEN_ALONG[each.kind]}",
                f"keep {kept}, {WAIVE} {rule}",
            )
            yield Finding(rule, each.owner, resource_of(each), message)


Rule = Callable[[Sequence[RenderedObject], RuleSetting], Iterable[Finding]]
"""Finds what breaks a rule among all objects of a stack."""

RULES: Mapping[RuleName, Rule] = {
    RuleName.ADMIN_BINDING: admin_bindings,
    RuleName.WRITABLE_DEPLOY_KEY: writable_deploy_keys,
    RuleName.PLAIN_SECRET: plain_secrets,
    RuleName.RESERVED_NAMESPACE: reserved_namespaces,
    RuleName.LOCKDOWN_FLAGS: lockdown_flags,
    RuleName.NO_POLICY_ENGINE: missing_engine,
    RuleName.POLICY_NOT_ENFORCED: policies_not_enforced,
}
"""The rules that need one state of a stack; deletions are found by comparing two."""


def findings(
    objects: Sequence[RenderedObject], setting: RuleSetting, before: Sequence[RenderedObject] = ()
) -> tuple[Finding, ...]:
    """Everything in a stack that breaks a rule, with the waiver that allows it.

    Args:
        before: all objects that it has now, to judge what is deleted.
    """
    found = [finding for rule in RULES.values() for finding in rule(objects, setting)]
    return waived([*found, *protected_deletions(before, objects)], setting.waivers)
