"""The rule about Flux's flags: the multi-tenant profile on exactly the controllers that know its flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, arguments_for, flags_for, unknown_to
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.installs.flux.release import component_of, version_of
from flux_tenancy.components.stack.decisions import RuleName
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.rules.findings import Finding, resource_of
from flux_tenancy.review.rules.setting import RuleSetting

_GATES = FEATURE_GATES.strip("-=")


def lockdown_flags(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Flags of the multi-tenant profile that a controller lacks or does not know, and those that undo it."""
    for each in objects if setting.locked_down else ():
        if each.kind != "Deployment" or (controller := component_of(each.manifest)) is None:
            continue
        version = version_of(each.manifest)
        for message in _messages(controller, _flags(each.manifest), setting.default_account, version):
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
    for name in sorted(unknown_to(controller, version) & flags.keys()):
        yield Message(
            "FT-REV-107",
            f"has --{name}, which {controller} does not support; it would not start",
            f"remove it from flux.extraArgs.{controller} (docs/lockdown.md)",
        )
    for name in sorted(FORBIDDEN_FLAGS.keys() & flags.keys()):
        if flags[name] not in ("", "false"):
            yield Message(
                "FT-REV-108",
                f"has --{printable(name)}: {FORBIDDEN_FLAGS[name]}",
                f"remove it from flux.extraArgs.{controller} (docs/lockdown.md)",
            )


def _flags(deployment: Manifest) -> dict[str, str]:
    """The flags of a controller; the last value of each counts, as for the controller itself."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    return dict(_parsed(argument for container in containers for argument in container.get("args") or ()))


def _parsed(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    for argument in arguments:
        name, separator, value = argument.lstrip("-").partition("=")
        yield name, value if separator else "true"


def _gates(value: str) -> dict[str, str]:
    pairs = (gate.partition("=") for gate in value.split(","))
    return {name.strip(): setting for name, _, setting in pairs}
