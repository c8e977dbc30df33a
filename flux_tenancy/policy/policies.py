"""The policies of the pack, as the engine lists them: one that refuses, and one that shows what is waived.

There is no policy for each rule: the SDK decodes a resource anew for each policy, which takes longer than to judge it.

Source: https://www.pulumi.com/docs/insights/policy/policy-packs/authoring/
"""

from __future__ import annotations

from contextlib import suppress

from pulumi_policy import EnforcementLevel, Policy, ReportViolation, ResourceValidationArgs, ResourceValidationPolicy

from flux_tenancy.components.config.errors import ConfigurationError, coded
from flux_tenancy.components.config.messages import Message
from flux_tenancy.policy.judge import STACK, Judge
from flux_tenancy.review.rules.findings import Finding
from flux_tenancy.review.rules.findings_text import statement_of, waiver_text

_PAGE = "docs/review.md#rules"


class Rules(ResourceValidationPolicy):
    """Refuses what breaks a rule.

    It is a remediation that changes nothing: the SDK shows only to remediations which values are secret. The engine
    reports what is left after a remediation as mandatory.
    """

    def __init__(self, judge: Judge) -> None:
        super().__init__("rules", f"Breaks a rule ({_PAGE}).", enforcement_level=EnforcementLevel.REMEDIATE)
        self._judge = judge

    def remediate(self, args: ResourceValidationArgs) -> None:
        self._judge.look(args)

    def validate(self, args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        try:
            found = self._judge.findings(args)
        except ConfigurationError as error:
            # The program lists the errors. What cannot be judged does not pass, and that is said once.
            if args.resource_type == STACK:
                report_violation(
                    coded(
                        Message(
                            "FT-REV-121",
                            f"the configuration of the stack has errors ({len(error.problems)}), so it cannot be "
                            "checked against the review rules",
                            "correct them",
                        )
                    ),
                    None,
                )
            return
        for finding in found:
            if finding.waiver is None:
                report_violation(f"{_said(finding)}\nremedy: {finding.message.remedy}", None)


class Waived(ResourceValidationPolicy):
    """Shows what breaks a rule and is waived."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(
            "waived", f"Breaks a rule and is waived ({_PAGE}).", enforcement_level=EnforcementLevel.ADVISORY
        )
        self._judge = judge

    def validate(self, args: ResourceValidationArgs, report_violation: ReportViolation) -> None:
        with suppress(ConfigurationError):  # reported by `Rules`
            for finding in self._judge.findings(args):
                if finding.waiver is not None:
                    report_violation(f"{_said(finding)}\n{waiver_text(finding.waiver)}", None)


def policies(judge: Judge) -> list[Policy]:
    """The policies of the pack.

    Args:
        judge: what judges the resources of the command.
    """
    return [Rules(judge), Waived(judge)]


def _said(finding: Finding) -> str:
    return f"{finding.rule}: {statement_of(finding)}"
