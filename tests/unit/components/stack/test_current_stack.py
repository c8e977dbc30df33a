"""The configuration of the stack is taken over from Pulumi as a whole, secrets marked."""

import json

import pulumi
import pytest
from recorded_program import run
from sample_stack import CLUSTER, DEV_TEAM_BASE, FLUX, write_project_file

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.engine.pulumi_command import ConfigFile
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.loading import read_stack, stack_file
from tests.support.messages import said


def read(project, values, secret_keys=()):
    """What the program of a stack with these values reads, or its error."""
    (project / "tenants").mkdir()
    write_project_file(project)
    (project / "tenants" / "dev-team.yaml").write_text(DEV_TEAM_BASE)
    found: list[StackConfig | list[str]] = []

    def program():
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
        pulumi.runtime.set_all_config(texts, list(secret_keys))
        try:
            found.append(read_stack(project, stack_file(project, ConfigFile(True))))
        except ConfigurationError as error:
            found.append([str(problem) for problem in error.problems])

    run(program)
    return found[0]


STACK = {"flux-tenancy:cluster": CLUSTER, "flux-tenancy:flux": FLUX}


def problem(key: str, message: str) -> str:
    return str(Problem("Pulumi.staging.yaml", key, message))


def test_everything_of_the_project_is_read_and_nothing_of_others(tmp_path):
    others = {"pulumi:disable-default-providers": ["*"], "other:zebra": "1"}

    config = read(tmp_path, STACK | others | {"flux-tenancy:tenants": {"dev-team": {}}})

    assert config.cluster.kubeconfig == "kubeconfig"
    assert list(config.tenants) == ["dev-team"]


def test_a_key_that_nobody_asks_for_is_refused(tmp_path):
    assert read(tmp_path, STACK | {"flux-tenancy:tenant": {}}) == [
        problem("tenant", said("FT-CFG-602", "did you mean 'tenants'?"))
    ]


@pytest.mark.parametrize(
    ("secret_keys", "given"),
    [([], "'pa55word'"), (["flux-tenancy:flux"], "this value")],
)
def test_what_pulumi_holds_as_a_secret_is_not_shown(tmp_path, secret_keys, given):
    assert read(tmp_path, STACK | {"flux-tenancy:flux": "pa55word"}, secret_keys) == [
        problem("flux", said("FT-CFG-610", "a mapping", given, "write its keys below it: version, sha256"))
    ]
