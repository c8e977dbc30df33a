"""What a `policy.yaml` may say, and how its CEL is read."""

from __future__ import annotations

import re
from itertools import chain, combinations

import pytest
from pydantic import ValidationError

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.policies.policy import POLICIES_FOLDER, PolicyName
from flux_tenancy.components.policies.policy_files import (
    PolicyText,
    filled_policy,
    has_file,
    joined_lines,
    policy_text,
    written,
)
from flux_tenancy.components.policies.values import places
from flux_tenancy.components.tenant.config import TenancyConfig

FOLDERS = [name for name in PolicyName if has_file(name)]
LISTED = PoliciesConfig.model_validate({"priorityClasses": ["gold", "silver"], "nodeNames": True})


def policy(said: dict[str, object], config: PoliciesConfig = LISTED):
    content = {"refuses": "a", "threats": [1], "subject": "content", "resources": [], "validations": {}} | said
    return filled_policy(PolicyName.LANE, PolicyText.model_validate(content), places(config, TenancyConfig()))


def message(text: str, **said: object) -> str:
    validation = {"expression": "true", "message": text}
    found: str = policy({"validations": {"a": validation}} | said).validations[0].message
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_a_policy_can_be_read_for_every_stack(name):
    where = policy_text(name).where
    for true in chain.from_iterable(combinations(where, count) for count in range(len(where) + 1)):
        assert filled_policy(name, policy_text(name, frozenset(true)), places(LISTED, TenancyConfig())).validations


@pytest.mark.parametrize("name", FOLDERS)
def test_a_policy_names_the_settings_that_its_cel_has(name):
    text = (POLICIES_FOLDER / name.value / "policy.yaml").read_text()

    assert set(re.findall(r"[$][{](policies[.][A-Za-z.]+)[}]", text)) <= set(written(name).get("settings", ()))


@pytest.mark.parametrize(
    "said", [{"threat": 1}, {"subject": "nobody"}, {"where": {"always": {}}}, {"resources": [{"kind": "Pod"}]}]
)
def test_a_key_or_word_that_no_policy_has_is_refused(said):
    with pytest.raises(ValidationError):
        policy(said)


def test_a_name_that_stands_for_nothing_is_refused():
    with pytest.raises(ValueError, match=r"lane/policy.yaml: [$][{]wrong[}] is not known; name"):
        message("${wrong}")


def test_lines_are_joined_as_cel_is_written():
    written = """
        // Why.
        object.spec.names
        .filter(name, (
        name != 'a' ||
        name == "b c"
        ))
    """

    assert joined_lines(written) == "object.spec.names.filter(name, (name != 'a' || name == \"b c\"))"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a in ${policies.priorityClasses}", 'a in ["gold", "silver"]'),
        ("${policies.nodeNames} && ${policies.storageClasses} == []", "true && [] == []"),
        ('"use ${policies.priorityClasses} or ${policies.csiDrivers}"', '"use gold, silver or none"'),
        ("'at most ${policies.maximumReleaseSize} of \\'${pattern}\\''", "'at most 128 of \\'^\\\\w\\''"),
        ("${map}[${pattern}] + ${map.a}", '{"a": "b"}["^\\\\w"] + "b"'),
        ("${classes}", '["", "gold", "silver"]'),
        ("${part} || c", "(a && 128 > 0) || c"),
    ],
)
def test_a_name_stands_for_a_literal_for_words_or_for_cel(written, read):
    values = {"pattern": r"^\w", "map": {"a": "b"}, "classes": ["", "${policies.priorityClasses}"]}

    assert message(written, values=values, parts={"part": "(a && ${policies.maximumReleaseSize} > 0)"}) == read
