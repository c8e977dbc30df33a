"""Stacks as the rules see them: what they would apply, and what is known of them besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.stack.checks.freezes import freeze_warnings
from flux_tenancy.components.stack.checks.grants import expiring_grants
from flux_tenancy.components.stack.checks.limits import overfull_store
from flux_tenancy.components.stack.cluster.absence import unlisted_tenants
from flux_tenancy.components.stack.config import StackConfig, is_production
from flux_tenancy.components.stack.decisions import Waiver
from flux_tenancy.components.stack.files.project_file import read_project_file
from flux_tenancy.components.stack.files.stack_file import read_stack_file
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.render.stack import load_and_render


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


NO_STACKS = Wording("FT-REV-120", "the project has no stacks", "describe one in Pulumi.<stack>.yaml")


class JudgedStack(NamedTuple):
    """A stack as the rules see it.

    Attributes:
        render: what it would apply.
        setting: what the rules know of it besides.
        warnings: what breaks no rule, and will soon stop updates or is never applied.
    """

    render: Render
    setting: RuleSetting
    warnings: tuple[Message, ...] = ()


def read_stacks(project: Path, stacks: Iterable[str]) -> tuple[dict[str, JudgedStack], list[Problem]]:
    """The stacks that can be read, and the errors of those that cannot."""
    read: dict[str, JudgedStack] = {}
    problems: list[Problem] = []
    for stack in stacks:
        try:
            render, config = load_and_render(project, stack)
        except ConfigurationError as error:
            problems += error.problems
        else:
            file = read_stack_file(stack, read_project_file(project))
            warnings = (
                *expiring_grants(config),
                *freeze_warnings(config),
                *overfull_store(config, stack),
                *unlisted_tenants(config.tenants, file, project),
            )
            read[stack] = JudgedStack(render, RuleSetting.of(stack, config), warnings)
    return read, problems
