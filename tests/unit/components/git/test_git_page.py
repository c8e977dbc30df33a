"""The examples of docs/git.md are stacks that load once they have their secrets."""

import re
from pathlib import Path

import pytest
import yaml
from sample_keys import OPENSSH, private_text, public_line, rsa_key
from sample_stack import FLUX, Secret, load, problems

PAGE = Path(__file__).parents[4] / "docs/git.md"
[BLOCK] = re.findall(r"```yaml\n(# Pulumi.<stack>.yaml\nflux-tenancy:flux: .*?)```", PAGE.read_text(), re.DOTALL)
EXAMPLE = {key.partition(":")[2]: section for key, section in yaml.safe_load(BLOCK).items()}
BASES = dict.fromkeys(EXAMPLE["tenants"], "{}")
HOST_KEY = f"ssh.dev.azure.com {public_line(rsa_key(3072))}"


def with_secrets(**sections):
    """The sections of the example with the secrets that it leaves out."""
    tenants = {name: {**tenant, "source": dict(tenant["source"])} for name, tenant in EXAMPLE["tenants"].items()}
    for name, tenant in tenants.items():
        source = tenant["source"]
        if "https" in source:
            key = "password" if "username" in source["https"] else "bearerToken"
            source["https"] = {**source["https"], key: Secret("t0ken")}
        elif name == "azure-ssh":
            source["deployKey"] = Secret(private_text(rsa_key(3072), OPENSSH))
    return {
        "tenants": tenants,
        "flux": FLUX | EXAMPLE["flux"],
        "policies": EXAMPLE["policies"],
        "git": {"knownHosts": [HOST_KEY]},
    } | sections


def test_the_examples_by_host_load(tmp_path):
    assert len(load(tmp_path, bases=BASES, **with_secrets()).tenants) == 8


@pytest.mark.parametrize(
    ("section", "tenant"), [("flux", "codecommit"), ("policies", "azure-identity"), ("git", "azure-ssh")]
)
def test_each_part_of_the_examples_is_needed(tmp_path, section, tenant):
    without = FLUX if section == "flux" else {}
    assert any(
        f"tenants.{tenant}." in each for each in problems(tmp_path, bases=BASES, **with_secrets(**{section: without}))
    )
