"""The stack that the pack judges, where the engine does not send its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from sample_stack import CLUSTER, FLUX, PROJECT, write_project_file

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.policy.setting import setting_of

URN = "urn:pulumi:eu-production::flux-tenancy::kubernetes:core/v1:Namespace::apps"


def write_stack(project: Path, **sections: object) -> None:
    write_project_file(project)
    config = {f"{PROJECT}:{key}": value for key, value in ({"cluster": CLUSTER, "flux": FLUX} | sections).items()}
    (project / "Pulumi.eu-production.yaml").write_text(yaml.safe_dump({"config": config}))


def test_the_stack_of_a_urn_is_read_from_the_files_of_the_project(tmp_path):
    write_stack(tmp_path, policies={"engine": "none"})

    setting = setting_of(URN, tmp_path, environ={})

    assert (setting.production, setting.engine) == (True, PolicyEngine.NONE)


def test_errors_of_the_files_are_raised(tmp_path):
    write_stack(tmp_path, policies={"engine": "some"})

    with pytest.raises(ConfigurationError):
        setting_of(URN, tmp_path, environ={})
