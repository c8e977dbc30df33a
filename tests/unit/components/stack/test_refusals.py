"""What a stack may not say: each row of `refusals.yaml` is one error at its key, and shows no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_keys as keys
import yaml
from sample_capsule import CAPSULE
from sample_release import HERE
from sample_sops_keys import age_identity, openpgp_key, with_passphrase
from sample_stack import CLUSTER, FLUX, KYVERNO, Secret, load, problems

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.keys.ssh_keys import generate
from flux_tenancy.components.stack.checks.flux import spec_problems
from flux_tenancy.components.sync.notifications import PROVIDER_TYPES
from flux_tenancy.components.tenant.role import OPENED_KINDS
from tests.support import post_quantum_key
from tests.support.messages import said
from tests.support.releases import FLUX_VERSION

DEFINITIONS = list(yaml.load_all((HERE / "fixtures" / "definitions.yaml").read_text(), FastLoader))
IN_ORDER: dict[str, Any] = {"cluster": CLUSTER, "flux": FLUX, "kyverno": KYVERNO, "capsule": CAPSULE}
DEPLOY_KEY = generate().private
FIRST, SECOND, OTHER = (age_identity(name) for name in ("first", "second", "other"))
SEALED = "ENC[AES256_GCM,data:lp4XIObfTg==,iv:nhFbOpHBW+,tag:6PVrl41r,type:str]"
MADE = {
    "App key": keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL),
    "Flux": FLUX_VERSION,
    "EC key": keys.private_text(keys.ec_key(), keys.PKCS8),
    "OpenPGP fingerprint": openpgp_key("first").fingerprint,
    "OpenPGP key with passphrase": with_passphrase(),
    "OpenPGP key": openpgp_key("first").private,
    "OpenPGP public key": openpgp_key("first").public,
    "age key": FIRST.private,
    "age recipient": FIRST.recipient,
    "another OpenPGP fingerprint": openpgp_key("second").fingerprint,
    "another age recipient": OTHER.recipient,
    "deploy key": DEPLOY_KEY,
    "encrypted by SOPS": SEALED,
    "encrypted by SOPS between blanks": f"  {SEALED}\n",
    "half a key": DEPLOY_KEY[:99],
    "key with passphrase": keys.with_passphrase_openssh(),
    "kinds that can be opened": ", ".join(OPENED_KINDS),
    "known host": f"git.example.com {keys.public_line(keys.ed25519_key())}",
    "post-quantum key": post_quantum_key.IDENTITY,
    "public key": keys.public_line(keys.ed25519_key()),
    "second age recipient": SECOND.recipient,
    "signer's private key": keys.openpgp_public_key().replace("PUBLIC", "PRIVATE"),
    "types of receivers": ", ".join(PROVIDER_TYPES),
    "two age keys": f"{FIRST.private}\n{SECOND.private}",
    "two age recipients": f"{FIRST.recipient}, {SECOND.recipient}",
    "weak key": keys.private_text(keys.rsa_key(2048), keys.PKCS8),
}
"""What stands for `!made` and, encrypted, for `!secret`, which also takes any other text."""


class Loader(yaml.SafeLoader):
    """YAML with these tags."""


Loader.add_constructor("!made", lambda _, node: MADE[str(node.value)])
Loader.add_constructor("!secret", lambda _, node: Secret(MADE.get(str(node.value), str(node.value))))


def merged(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return base | {key: merged(base.get(key), value) for key, value in change.items()}


def quoted_at(given: Any, path: str) -> Any:
    """What a message quotes: the value at a path, or the name of a part that is wrongly named."""
    key = ""
    for key in (name or plain for name, plain in re.findall(r'\["(.+?)"\]|([^.\[\]]+)', path)):
        given = given[int(key) if isinstance(given, list) else key]
    return key if isinstance(given, dict) or "/" in key else given


def cases() -> Iterator[Any]:
    for group in yaml.load(Path(__file__).with_name("refusals.yaml").read_text(), Loader):
        place, beside = group["at"].split(".") if group["at"] else [], group.get("beside", {})
        sections = merged({key: IN_ORDER[key] for key in IN_ORDER.keys() & {*place[:1], *beside}}, beside)
        for given, path, *error in group["refused"]:
            written = given
            for key in reversed(place):
                written = {key: written}
            where = ".".join(filter(None, (*place, path)))
            quoted = [quoted_at(given, path)] if error[0] == "quoted" else []
            case = group.get("by", "loader"), merged(sections, written), where, quoted, error[len(quoted) :]
            yield pytest.param(*case, id=f"{where}: {case[-1][0]}")


def secrets_in(given: Any) -> list[str]:
    if isinstance(given, dict | list):
        return [found for each in (given.values() if isinstance(given, dict) else given) for found in secrets_in(each)]
    return [line for line in given.splitlines() if len(line) > 20] if isinstance(given, Secret) else []


@pytest.mark.parametrize(("by", "sections", "path", "quoted", "error"), list(cases()))
def test_it_is_refused_at_its_key(tmp_path, by, sections, path, quoted, error):
    message = said(*error).of(*quoted) if quoted else said(*error)

    if by == "definitions":
        found = spec_problems(load(tmp_path, **sections), DEFINITIONS, "staging", "Pulumi.staging.yaml")
        assert [(each.path, each.message, each.code) for each in found] == [(path, message, error[0])]
    else:
        assert problems(tmp_path, **sections) == [f"Pulumi.staging.yaml: {path}: {message}"]
    assert "pa55word" not in message and not [each for each in secrets_in(sections) if each in message]
