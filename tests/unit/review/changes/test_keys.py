"""The keys that differ between two versions of a stack's files, and where reviewers read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from sample_project import SALT, encrypted
from sample_stack import FLUX

from dev.reference.configuration import keys_of
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.secrets import takes_a_secret
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.review.changes.keys import KeyChange, SecretChange, key_changes, secret_changes
from flux_tenancy.review.changes.objects import ABSENT, Action
from flux_tenancy.review.changes.risks import matters_of_key
from flux_tenancy.review.render.facts import Written, read_written
from flux_tenancy.review.render.rendered import PLATFORM, Render
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.model import Report
from flux_tenancy.review.report.terminal import as_text

Files = Mapping[str, Any]
Path_ = tuple[str, ...]
STACK, BASE, PROJECT = "Pulumi.staging.yaml", "tenants/dev-team.yaml", "Pulumi.yaml"
NAME = {"name": "flux-tenancy", "runtime": "python"}


def stack_file(sections: Files, **others: Any) -> dict[str, Any]:
    return {
        "config": {f"flux-tenancy:{key}": value for key, value in sections.items()},
        "encryptionsalt": SALT,
    } | others


def written(folder: Path, files: Files, stack: str = "staging") -> Written:
    """A stack as it is written in these files; one that is a text has that text."""
    (folder / "tenants").mkdir(parents=True, exist_ok=True)
    for name, content in ({PROJECT: NAME} | dict(files)).items():
        (folder / name).write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return read_written(stack, folder)


def changed(folder: Path, before: Files, after: Files) -> tuple[KeyChange, ...]:
    return key_changes(written(folder / "before", before), written(folder / "after", after))


def said(changes: Sequence[KeyChange]) -> list[tuple[str, str, str, Any, Any]]:
    return [(each.file, each.owner, each.field.name, each.field.before, each.field.after) for each in changes]


def reports(keys: tuple[KeyChange, ...]) -> Report:
    """The report of a change that changes these keys and nothing else."""
    side = Side(StackFile(STACK, {}), Render.of("staging", ()))
    return Report("main", "0123456789abcdef", (stack_report("staging", side, side, keys=keys),))


def printed(report: Report) -> str:
    out = StringIO()
    Console(file=out, width=400).print(as_text(report))
    return out.getvalue()


def test_a_key_of_a_stack_a_tenants_base_and_the_project_is_shown_with_its_file_owner_and_values(tmp_path):
    tenants = {"dev-team": {"sources": {"app": {"url": "https://a"}}}}
    before = {
        STACK: stack_file({"tenants": tenants, "flux": {"profile": "single-tenant"}}, secretsprovider="awskms://a"),
        BASE: {"role": "view"},
        PROJECT: NAME | {"config": {"pulumi:tags": "a", "policies.engine": "native"}},
    }
    tenants = {"dev-team": {"sources": {"app": {"url": "https://b"}}}}
    after = {
        STACK: stack_file({"tenants": tenants, "flux": {}}, secretsprovider="awskms://b"),
        BASE: {"role": "view", "labels": {"a": "b"}},
        PROJECT: NAME | {"config": {"pulumi:tags": "b", "policies.engine": {"value": "both"}}},
    }

    assert said(changed(tmp_path, before, after)) == [
        (STACK, PLATFORM, "flux.profile", "single-tenant", ABSENT),
        (STACK, PLATFORM, "secretsprovider", "awskms://a", "awskms://b"),
        (STACK, "dev-team", "tenants.dev-team.sources.app.url", "https://a", "https://b"),
        (PROJECT, PLATFORM, "config.policies.engine", "native", "both"),
        (PROJECT, PLATFORM, "config.pulumi:tags", "a", "b"),
        (BASE, "dev-team", "labels.a", ABSENT, "b"),
    ]


def test_comments_quotes_order_and_another_notation_are_no_change(tmp_path):
    before = (
        'config:\n  flux-tenancy:cluster: {context: a, adopt: true}\n  flux-tenancy:review: {expires: "2027-01-31"}\n'
    )
    after = (
        "# why\nconfig:\n  flux-tenancy:review:\n    expires: 2027-01-31 # soon\n"
        '  flux-tenancy:cluster: \'{"adopt": true, "context": "a"}\'\n'
    )

    assert changed(tmp_path, {STACK: before}, {STACK: after}) == ()


@pytest.mark.parametrize(("before", "after"), [(True, "true"), (1, "1"), (1, True), (None, ""), ({}, []), ([], None)])
def test_values_of_different_types_differ(tmp_path, before, after):
    [change] = changed(tmp_path, *({STACK: stack_file({"cluster": {"adopt": each}})} for each in (before, after)))

    assert (change.field.before, change.field.after) == (before, after)


def test_entries_of_lists_are_told_apart_by_their_names(tmp_path):
    before, after = (
        {BASE: {"namespaces": [{"name": name} for name in names]}, STACK: stack_file({"tenants": {"dev-team": {}}})}
        for names in (["a", "b"], ["b", "c"])
    )

    assert [each[2:] for each in said(changed(tmp_path, before, after))] == [
        ("namespaces[a].name", "a", ABSENT),
        ("namespaces[c].name", ABSENT, "c"),
    ]


def test_encrypted_values_are_fingerprints_and_secrets_in_plain_text_are_not_shown(tmp_path):
    def files(value: object, host: str, salt: str) -> dict[str, Any]:
        tenants = {"dev-team": {"source": {"deployKey": value, "https": {"username": host}}}}
        return {
            STACK: stack_file({"tenants": tenants}, encryptionsalt=salt, backend={"url": f"postgres://me:{host}@db"})
        }

    changes = changed(tmp_path, files(encrypted("one"), "hunter2", SALT), files("swordfish", "hunter3", "salt:2"))

    found = {each.field.name: (each.field.before, each.field.after) for each in changes}
    assert found["tenants.dev-team.source.deployKey"][1] == "(not shown)"
    assert str(found["tenants.dev-team.source.deployKey"][0]).startswith(
        "<encrypted tenants.dev-team.source.deployKey "
    )
    assert found["backend.url"] == ("postgres://me:(not shown)@db",) * 2
    assert all(str(each).startswith("<encrypted encryptionsalt ") for each in found["encryptionsalt"])
    report = reports(changes)
    for text in (as_json(report), as_markdown(report), printed(report)):
        assert not any(
            secret in text for secret in ("v1:0123456789abcdef:one", "swordfish", SALT, "salt:2", "me:hunter")
        )


def test_lines_of_the_file_with_known_hosts_are_compared(tmp_path):
    host = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    sections = stack_file({"git": {"knownHostsFile": "hosts"}})
    before = {STACK: sections, "hosts": f"{host}\n"}

    assert changed(tmp_path, before, {STACK: sections, "hosts": f"# why\n{host}\n"}) == ()
    assert said(changed(tmp_path, before, {STACK: sections, "hosts": f"{host}\nother.{host}\n"})) == [
        ("hosts", PLATFORM, "[1]", ABSENT, f"other.{host}")
    ]


def test_the_base_of_a_tenant_that_the_stack_does_not_list_is_not_its_change(tmp_path):
    assert changed(tmp_path, {BASE: {}}, {BASE: {"role": "admin"}}) == ()


def test_all_keys_of_a_new_tenant_are_in_one_folded_block(tmp_path):
    after = {STACK: stack_file({"tenants": {"dev-team": {"role": "view"}}}), BASE: {"source": {"url": "https://a"}}}
    [stack] = reports(changed(tmp_path, {STACK: stack_file({})}, after)).stacks

    text = as_markdown(Report("main", "0", (replace(stack, onboarded=("dev-team",)),)))

    block = text[text.index("<details><summary>Keys</summary>") : text.index("</details>")]
    assert "+ tenants.dev-team.role: view" in block and "+ source.url: https://a" in block
    assert "Changed keys" not in text


def of_stack(stack: str, *tenants: str, interval: str) -> Written:
    entries = {name: {"sync": {"interval": interval}, "role": name} for name in tenants}
    return Written(f"Pulumi.{stack}.yaml", {"tenants": entries})


def of_both_stacks(*tenants: str) -> Report:
    """The report of a change of the interval of these tenants in two stacks."""
    side = Side(StackFile(STACK, {}), Render.of("staging", ()))
    changes = {
        stack: key_changes(*(of_stack(stack, *tenants, interval=interval) for interval in ("1m", "5m")))
        for stack in ("production", "staging")
    }
    return Report("main", "0", tuple(stack_report(stack, side, side, keys=keys) for stack, keys in changes.items()))


def test_what_several_stacks_and_tenants_share_is_said_once():
    report, one = of_both_stacks("a", "b"), of_both_stacks("a")

    text = as_markdown(report)

    assert report.headline == "2 keys changed"
    assert text.count("interval") == 2
    assert "Pulumi.production.yaml and Pulumi.staging.yaml\n- tenants.<tenant>.sync.interval: 1m" in text.replace(
        '"', ""
    )
    assert one.headline == (
        "Key changed (where from): tenants.a.sync.interval in Pulumi.production.yaml and Pulumi.staging.yaml"
    )


def test_a_report_of_keys_alone_says_so_and_how_to_approve():
    one, two = (Written(STACK, {"review": {"waivers": [], "acknowledge": [*range(count)]}}) for count in (0, 1))
    three = Written(STACK, {"cluster": {"adopt": True}, "review": {"waivers": [{}]}})

    assert reports(()).headline == "No applied object changes"
    assert (
        reports(key_changes(one, two)).headline
        == "Key changed (protection): review.acknowledge[0] in Pulumi.staging.yaml"
    )
    report = reports(key_changes(one, three))
    assert report.headline == f"{len(report.stacks[0].keys)} keys changed"
    assert "flux-tenancy up --stack staging" in as_markdown(report)
    assert "staging would change" in printed(report)


# Every key of the schema.


def paths(model: type[StackConfig] | type[TenantConfig]) -> list[Path_]:
    """The keys of a file that have none below them; a name in a mapping is `a`, and an entry of a list is `[0]`."""
    found = {tuple(key.replace("*", "a").replace("[]", ".[0]").split(".")): type_ for key, type_ in keys_of(model)}
    above = {path[:length] for path in found for length in range(1, len(path))}
    return [(*path, "a") if found[path].startswith("mapping") else path for path in found if path not in above]


PATHS = [*((STACK, path) for path in paths(StackConfig)), *((BASE, path) for path in paths(TenantConfig))]


def is_secret(path: Path_) -> bool:
    return takes_a_secret(path) or takes_a_secret(("tenants", "a", *path))


def put(content: dict[str, Any], path: Path_, value: Any) -> None:
    """Set a key of a file, with all that is around it."""
    last = path[-1]
    place: Any = content
    for part, following in pairwise(path):
        new: Any = [] if following == "[0]" else {}
        if part == "[0]":
            if not place:
                place.append({"x": 1})
            place = place[0]
        else:
            place = place.setdefault(part, new)
    if value is not ABSENT:
        if last == "[0]":
            place.append(value)
        else:
            place[last] = value


def files_with(value: object) -> Files:
    """Both files with a value of each key, encrypted where it is a secret; ABSENT leaves the key out."""
    sections: dict[str, Any] = {"tenants": {"dev-team": {}}}
    base: dict[str, Any] = {}
    for file, path in PATHS:
        sealed = encrypted(repr(value)) if is_secret(path) and value is not ABSENT else value
        put(sections if file == STACK else base, path, sealed)
    return {STACK: stack_file(sections), BASE: base}


def dotted(path: Path_) -> str:
    return ".".join(path).replace(".[0]", "[0]")


def plain(text: str) -> str:
    """A text in which entries of lists have neither names nor numbers, which differ where the name itself changes."""
    return re.sub(r"\[[^][]*\]", "[0]", text)


def named_keys(report: Report) -> dict[str, list[str]]:
    """The keys that the JSON names, by file."""
    found: dict[str, list[str]] = {}
    for each in json.loads(as_json(report))["stacks"][0]["keys"]:
        found.setdefault(each["file"], []).append(plain(each["key"]))
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [("first", "second"), ("first", ABSENT), (ABSENT, "first"), (1, True), ("1", 1), ([], ["a", "b"]), ({}, {"b": 1})],
)
def test_every_key_of_the_schemas_is_named_when_it_changes_and_no_other(tmp_path, before, after):
    assert len(PATHS) > 400

    report = reports(changed(tmp_path, files_with(before), files_with(after)))

    below = "[0]" if isinstance(after, list) else ".b" if isinstance(after, dict) else ""
    named = {(file, dotted(path) + below * (not is_secret(path))) for file, path in PATHS}
    # An entry with another name is another one, with everything in it.
    found = {(file, key) for file, keys in named_keys(report).items() for key in keys if not key.endswith(".x")}
    assert found == named
    for text in map(plain, (as_markdown(report, limit=10**7), printed(report))):
        assert [key for _, key in named if f" {key}: " not in text] == []


def test_a_key_that_keeps_its_value_is_not_named(tmp_path):
    assert changed(tmp_path, files_with("first"), files_with("first")) == ()


def test_every_key_of_the_schemas_says_how_it_matters():
    found = [path if file == STACK else ("tenants", "a", *path) for file, path in PATHS]

    assert [path for path in found if not matters_of_key(path)] == []


def file(**sections):
    return StackFile("Pulumi.staging.yaml", sections)


def secure(value):
    return {"secure": f"v1:{value}"}


def key(value):
    return {"dev-team": {"source": {"deployKey": secure(value)}}}


def test_a_secret_with_another_encrypted_form_is_rotated_and_no_part_of_it_is_repeated():
    found = secret_changes(file(tenants=key("a")), file(tenants=key("b")))

    assert found == (SecretChange("dev-team", "tenants.dev-team.source.deployKey", Action.CHANGED),)
    assert "v1:" not in repr(found)
    assert secret_changes(file(tenants=key("a")), file(tenants=key("a"), flux=FLUX)) == ()


def test_new_and_removed_secrets_are_told_by_their_keys():
    before = file(cluster={"kubeconfigContent": secure("a")})
    after = file(flux={"sync": {"decryption": [{"age": secure("b")}]}})

    assert secret_changes(before, after) == (
        SecretChange(PLATFORM, "cluster.kubeconfigContent", Action.REMOVED),
        SecretChange(PLATFORM, "flux.sync.decryption[0].age", Action.ADDED),
    )
    assert [each.action for each in secret_changes(None, file(tenants=key("a")))] == [Action.ADDED]


def test_a_value_of_another_key_is_told_with_it():
    swapped = {"dev-team": secure("a"), "ops-team": secure("b")}, {"dev-team": secure("b"), "ops-team": secure("a")}
    before, after = (file(tenants={name: {"key": each} for name, each in one.items()}) for one in swapped)

    assert [(each.key, each.copied) for each in secret_changes(before, after)] == [
        ("tenants.dev-team.key", "tenants.ops-team.key"),
        ("tenants.ops-team.key", "tenants.dev-team.key"),
    ]


def test_a_value_that_moves_in_its_list_comes_from_no_other_key():
    before, after = (
        file(flux={"sync": {"decryption": [{"age": secure(each)} for each in keys]}}) for keys in ("a", "ba")
    )

    assert [each.copied for each in secret_changes(before, after)] == ["", ""]
