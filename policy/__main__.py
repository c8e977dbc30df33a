"""Serves the policy pack; the engine runs this folder as a program."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pulumi_policy import PolicyPack

from flux_tenancy.policy.judge import Judge
from flux_tenancy.policy.policies import policies
from flux_tenancy.policy.setting import setting_of

PROJECT = Path(__file__).parents[1]

PolicyPack("flux-tenancy", policies(Judge(lambda urn: setting_of(urn, PROJECT))))
