"""Judges one resource after the other, in the order in which the engine registers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pulumi_policy import ResourceValidationArgs

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.rbac.rights import BINDINGS, ROLES, reference_of, role_of
from flux_tenancy.components.stack.review import RuleName
from flux_tenancy.policy.registered import registered_object, with_secrets
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.rules.environment import unprotected
from flux_tenancy.review.rules.findings import Finding, resource_of, waived
from flux_tenancy.review.rules.setting import RuleSetting
from flux_tenancy.review.rules.table import RULES

STACK = "pulumi:pulumi:Stack"
_OF_STACK = (RuleName.NO_POLICY_ENGINE, RuleName.POLICY_NOT_ENFORCED)
_OF_RESOURCE = (RuleName.WRITABLE_DEPLOY_KEY, RuleName.RESERVED_NAMESPACE, RuleName.LOCKDOWN_FLAGS)


class Judge:
    """The rules over what one `pulumi` command registers."""

    def __init__(self, setting_of: Callable[[str], RuleSetting]) -> None:
        """A judge of one command.

        Args:
            setting_of: what the rules know of the stack of a URN; it may raise a ConfigurationError.
        """
        self._setting_of = setting_of
        self._setting: RuleSetting | ConfigurationError | None = None
        self._namespaces: list[RenderedObject] = []
        self._roles: list[RenderedObject] = []
        self._bindings: list[RenderedObject] = []
        self._found: set[Finding] = set()
        self._secrets: dict[str, tuple[Finding, ...]] = {}
        self._judged: dict[str, tuple[Finding, ...]] = {}

    def look(self, args: ResourceValidationArgs) -> None:
        """Look at a resource before it is judged, with the arguments of a remediation: they show what is secret."""
        if args.resource_type.endswith(":Secret"):
            self._secrets[args.urn] = tuple(RULES[RuleName.PLAIN_SECRET]([with_secrets(args)], RuleSetting()))

    def findings(self, args: ResourceValidationArgs) -> tuple[Finding, ...]:
        """What in a resource breaks a rule, or together with resources before it, with the waiver that allows it.

        Raises:
            ConfigurationError: with every problem of the stack's configuration.
        """
        if args.urn not in self._judged:
            setting = self._read_setting(args.urn)
            self._judged[args.urn] = waived(self._judge(args, setting), setting.waivers)
        return self._judged[args.urn]

    def _read_setting(self, urn: str) -> RuleSetting:
        """The setting, read once, since that takes time."""
        if self._setting is None:
            try:
                self._setting = self._setting_of(urn)
            except ConfigurationError as error:
                self._setting = error
        if isinstance(self._setting, ConfigurationError):
            raise self._setting
        return self._setting

    def _judge(self, args: ResourceValidationArgs, setting: RuleSetting) -> Iterator[Finding]:
        if args.resource_type == STACK:
            for name in _OF_STACK:
                yield from RULES[name]((), setting)
            return
        subject = registered_object(args)
        for name in _OF_RESOURCE:
            yield from RULES[name]([subject], setting)
        yield from unprotected(subject, args.opts.protect, setting)
        if subject.kind == "Secret" and subject.is_kubernetes:
            yield from self._secrets.get(args.urn, (_not_told_apart(subject),))
        for finding in RULES[RuleName.ADMIN_BINDING](self._related(subject), setting):
            if finding not in self._found:
                self._found.add(finding)
                yield finding

    def _related(self, subject: RenderedObject) -> list[RenderedObject]:
        """What a binding, role or namespace has to be judged with, whichever of them is registered last."""
        if subject.kind in BINDINGS:
            self._bindings.append(subject)
            return [*self._namespaces, *self._roles, subject]
        if subject.kind in ROLES:
            self._roles.append(subject)
            return [*self._namespaces, subject, *_bound_to(subject, self._bindings)]
        if subject.kind == "Namespace":
            self._namespaces.append(subject)
            return [subject, *self._roles, *self._bindings]
        return []


def _bound_to(role: RenderedObject, bindings: Iterable[RenderedObject]) -> list[RenderedObject]:
    return [each for each in bindings if role_of(each.manifest) == reference_of(role.manifest)]


def _not_told_apart(secret: RenderedObject) -> Finding:
    """Nobody has looked at the Secret, since the enforcement level is not the pack's own."""
    return Finding(
        RuleName.PLAIN_SECRET,
        secret.owner,
        resource_of(secret),
        Message(
            "FT-REV-114",
            "may be in plain text; the policy pack can check this only if its policy `rules` has the level remediate",
            "remove the other level from `--policy-pack-config`",
        ),
    )
