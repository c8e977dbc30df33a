"""The policy pack as the engine asks it: one request for each resource, through the SDK's own server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf import json_format, struct_pb2
from pulumi.runtime import rpc
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import EnforcementLevel
from pulumi_policy.policy import _PolicyAnalyzerServicer
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from flux_tenancy.components.vocabulary.manifests import Manifest, name_of, resource_type
from flux_tenancy.policy.judge import STACK, Judge
from flux_tenancy.policy.policies import policies
from flux_tenancy.review.rules.setting import RuleSetting

UNKNOWN = UNKNOWN_STRING_VALUE
LEVELS = {analyzer_pb2.REMEDIATE: "mandatory", analyzer_pb2.MANDATORY: "mandatory", analyzer_pb2.ADVISORY: "advisory"}


def secret(value: Any) -> dict[str, Any]:
    """A value as the engine sends it if the program has marked it as secret."""
    return {rpc._special_sig_key: rpc._special_secret_sig, "value": value}


class Pack:
    """The pack for one run of a stack.

    Attributes:
        said: each violation so far: its level, and its message without the policy's description.
    """

    def __init__(self, setting: RuleSetting | Callable[[str], RuleSetting]) -> None:
        setting_of = setting if callable(setting) else lambda _: setting
        self._server = _PolicyAnalyzerServicer(
            "flux-tenancy", "1.0.0", policies(Judge(setting_of)), EnforcementLevel.MANDATORY
        )
        self.said: list[tuple[str, str]] = []

    def register(self, kind: str, name: str, properties: Any, protect: bool = False, look: bool = True) -> list[str]:
        """Register a resource; returns the messages of its violations.

        Args:
            look: whether the engine asks for remediations first, as it does at the pack's own level.
        """
        request = analyzer_pb2.AnalyzeRequest(
            urn=f"urn:pulumi:production::flux-tenancy::{kind}::{name}",
            type=kind,
            name=name,
            properties=json_format.ParseDict(properties, struct_pb2.Struct()),
            options=analyzer_pb2.AnalyzerResourceOptions(protect=protect),
        )
        if look:
            assert not self._server.Remediate(request, None).remediations
        said = [
            (LEVELS[each.enforcementLevel], each.message.split("\n", 1)[1])
            for each in self._server.Analyze(request, None).diagnostics
        ]
        self.said += said
        return [message for _, message in said]

    def stack(self) -> list[str]:
        """Register the stack itself, as the engine does before everything else."""
        return self.register(STACK, "flux-tenancy-production", {})

    def object(self, manifest: Manifest, **options: Any) -> list[str]:
        """Register an object of the cluster."""
        return self.register(resource_type(manifest), name_of(manifest), manifest, **options)


def rules(messages: list[str]) -> Iterator[str]:
    """The rule of each message."""
    return (message.partition(":")[0] for message in messages)
