"""What the rules know of a stack besides its objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.stack.config import StackConfig, is_production
from flux_tenancy.components.stack.decisions import Waiver


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
        """The setting of a stack.

        Args:
            stack: its name.
            config: the stack.
        """
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
