"""`.sops.yaml`: for which recipients a file is encrypted, and which parts of it."""

import re

import pytest
import yaml

from flux_tenancy.components.sync.decryption import Environment, sops_config


def rules(*environments: Environment) -> list[dict[str, str]]:
    found: list[dict[str, str]] = yaml.safe_load(sops_config(environments))["creation_rules"]
    return found


def rule_for(file: str, *environments: Environment) -> dict[str, str]:
    """The rule that `sops` uses for a file: the first that matches."""
    return next(rule for rule in rules(*environments) if re.search(rule["path_regex"], file))


STAGING = Environment("./staging", {"age": ("age1s",)})
PRODUCTION = Environment("production/", {"age": ("age1p",), "pgp": ("ABCD", "EF01")})


def test_the_file_looks_as_if_written_by_hand():
    assert sops_config([STAGING]) == (
        "creation_rules:\n"
        "- path_regex: ^staging/.*\\.ya?ml$\n"
        "  encrypted_regex: ^(data|stringData)$\n"
        "  age: age1s\n"
        "- path_regex: ^staging/\n"
        "  age: age1s\n"
    )


@pytest.mark.parametrize(
    ("file", "recipients"),
    [
        ("staging/a.yaml", {"age": "age1s"}),
        ("staging/deep/b.yml", {"age": "age1s"}),
        ("production/a.yaml", {"age": "age1p", "pgp": "ABCD,EF01"}),
    ],
)
def test_a_manifest_is_encrypted_for_its_environment_and_stays_readable_for_flux(file, recipients):
    rule = rule_for(file, STAGING, PRODUCTION)

    assert rule.pop("encrypted_regex") == "^(data|stringData)$"
    rule.pop("path_regex")
    assert rule == recipients


@pytest.mark.parametrize("file", ["staging/app.env", "staging/key.pem", "staging/config.json", "staging/a.yaml.bak"])
def test_a_file_that_is_not_a_manifest_is_encrypted_as_a_whole(file):
    """The other rule would leave a dotenv file in plain text and mark it as encrypted."""
    rule = rule_for(file, STAGING)

    assert "encrypted_regex" not in rule
    assert rule["age"] == "age1s"


@pytest.mark.parametrize("file", ["stagings/a.yaml", "base/staging/a.yaml", "README.md"])
def test_files_outside_all_environments_have_no_rule(file):
    assert not [rule for rule in rules(STAGING) if re.search(rule["path_regex"], file)]


def test_a_folder_inside_another_has_its_own_rules():
    everything = Environment("./", {"age": ("age1all",)})
    inside = Environment("apps/staging", {"age": ("age1s",)})

    for order in ((everything, inside), (inside, everything)):
        assert rule_for("apps/staging/a.yaml", *order)["age"] == "age1s"
        assert rule_for("apps/a.yaml", *order)["age"] == "age1all"


def test_environments_that_read_the_same_folder_can_both_decrypt_it():
    other = Environment("staging", {"age": ("age1o", "age1s"), "kms": ("arn:aws:kms:eu-1:1:key/2",)})

    assert rule_for("staging/a.yaml", STAGING, other)["age"] == "age1s,age1o"
    assert rule_for("staging/a.yaml", STAGING, other)["kms"] == "arn:aws:kms:eu-1:1:key/2"


def test_a_folder_is_not_a_pattern():
    odd = Environment("./a.b+(c)", {"age": ("age1",)})

    assert rule_for("a.b+(c)/d.yaml", odd)
    assert not re.search(rules(odd)[0]["path_regex"], "aXb+(c)/d.yaml")


def test_a_long_recipient_stays_on_its_line():
    recipient = "age1pq1" + "q" * 1950

    assert f"  age: {recipient}\n" in sops_config([Environment("a", {"age": (recipient,)})])
