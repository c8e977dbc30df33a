"""The keys that differ between two versions of a stack's files, and where reviewers read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sample_project import SALT, encrypted
from sample_stack import FLUX

from flux_tenancy.components.config.messages import printable
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


def test_what_several_stacks_and_tenants_share_is_said_once():
    side = Side(StackFile(STACK, {}), Render.of("staging", ()))
    found = []
    for stack in ("production", "staging"):
        versions = (of_stack(stack, "a", "b", interval=interval) for interval in ("1m", "5m"))
        found.append(stack_report(stack, side, side, keys=key_changes(*versions)))

    report = Report("main", "0", tuple(found))

    text = as_markdown(report)

    assert report.headline == "2 keys changed"
    assert text.count("interval") == 2
    assert "Pulumi.production.yaml and Pulumi.staging.yaml\n- tenants.<tenant>.sync.interval: 1m" in text.replace(
        '"', ""
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


def test_one_key_of_several_stacks_is_named_with_their_files():
    side = Side(StackFile(STACK, {}), Render.of("staging", ()))
    found = []
    for stack in ("production", "staging"):
        versions = (of_stack(stack, "a", interval=interval) for interval in ("1m", "5m"))
        found.append(stack_report(stack, side, side, keys=key_changes(*versions)))

    headline = Report("main", "0", tuple(found)).headline

    assert (
        headline
        == "Key changed (where from): tenants.a.sync.interval in Pulumi.production.yaml and Pulumi.staging.yaml"
    )


# Every key of the schema.


@dataclass(frozen=True)
class Leaf:
    """A key of the schema that has no keys below it.

    Attributes:
        path: its keys; a name of a mapping is `a`, and an entry of a list is `[0]`.
        types: the JSON types that it may have.
        values: the only values that it may have; empty for any of the types.
    """

    path: Path_
    types: frozenset[str] = frozenset()
    values: tuple[Any, ...] = ()


def leaves(schema: Mapping[str, Any], definitions: Mapping[str, Any], path: Path_ = ()) -> Iterator[Leaf]:
    """Each leaf of a JSON schema; one that several forms of a value have, for each of them."""
    if "$ref" in schema:
        yield from leaves(definitions[schema["$ref"].rpartition("/")[2]], definitions, path)
    elif forms := schema.get("anyOf") or schema.get("oneOf"):
        for form in forms:
            yield from leaves(form, definitions, path)
    elif properties := schema.get("properties"):
        for key, each in properties.items():
            yield from leaves(each, definitions, (*path, key))
    elif "patternProperties" in schema or isinstance(schema.get("additionalProperties"), Mapping):
        named = schema.get("patternProperties") or {"": schema["additionalProperties"]}
        yield from leaves(next(iter(named.values())), definitions, (*path, "a"))
    elif isinstance(items := schema.get("items"), Mapping) and any(below(items, definitions)):
        yield from leaves(items, definitions, (*path, "[0]"))
    elif schema.get("type") != "null":
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        yield Leaf(path, frozenset({schema["type"]} if "type" in schema else ()), tuple(values))


def below(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Leaf]:
    """The leaves below a schema, without itself."""
    return [each for each in leaves(schema, definitions) if each.path]


def all_leaves(model: type[StackConfig] | type[TenantConfig]) -> list[Leaf]:
    schema = json.loads(json.dumps(model.model_json_schema()))
    found: dict[Path_, Leaf] = {}
    for each in leaves(schema, schema["$defs"]):
        other = found.get(each.path, each)
        found[each.path] = Leaf(each.path, each.types | other.types, (*other.values, *each.values))
    # A value that may be a mapping, too, is there as its leaves.
    inner = {path[:length] for path in found for length in range(1, len(path))}
    return [leaf for path, leaf in found.items() if path not in inner]


LEAVES = [
    *((STACK, leaf) for leaf in all_leaves(StackConfig)),
    *((BASE, leaf) for leaf in all_leaves(TenantConfig)),
]

WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Zl", "Zp", "Co")), max_size=30)
OF_TYPE: Mapping[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "integer": st.integers(-5, 10**12),
    "number": st.integers(-5, 10**6),
    "string": WORDS,
    "array": st.lists(WORDS | st.integers(), max_size=3),
    "object": st.dictionaries(WORDS, WORDS, max_size=3),
}


def values_of(leaf: Leaf) -> st.SearchStrategy[Any]:
    """The values that a leaf may have, and more; ABSENT if it is left out."""
    if takes_a_secret(("tenants", "a", *leaf.path)) or takes_a_secret(leaf.path):
        return WORDS.map(encrypted) | st.just(ABSENT)
    legal = st.sampled_from(leaf.values) if leaf.values else st.nothing()
    any_of = [OF_TYPE[each] for each in sorted(leaf.types) if not leaf.values or each == "boolean"]
    return st.one_of(legal, *(any_of or ([] if leaf.values else [*OF_TYPE.values()])), st.just(ABSENT))


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


def versions(values: Sequence[tuple[str, Leaf, Any, Any]]) -> tuple[Files, Files]:
    """The files with each key set to its first value, and to its second."""
    found = []
    for which in (2, 3):
        sections: dict[str, Any] = {"tenants": {"dev-team": {}}}
        base: dict[str, Any] = {}
        for each in values:
            put(sections if each[0] == STACK else base, each[1].path, each[which])
        found.append({STACK: stack_file(sections), BASE: base})
    return found[0], found[1]


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


def test_every_key_of_the_schemas_is_named_when_it_changes(tmp_path):
    assert len(LEAVES) > 400
    secret = [takes_a_secret(leaf.path) or takes_a_secret(("tenants", "a", *leaf.path)) for _, leaf in LEAVES]
    one, two = ([encrypted(text) if each else text for each in secret] for text in ("first", "second"))
    values = [(file, leaf, old, new) for (file, leaf), old, new in zip(LEAVES, one, two, strict=True)]

    report = reports(changed(tmp_path, *versions(values)))

    keys = named_keys(report)
    assert [leaf.path for file, leaf in LEAVES if dotted(leaf.path) not in keys[file]] == []
    for text in map(plain, (as_markdown(report, limit=10**7), printed(report))):
        assert [leaf.path for _, leaf in LEAVES if f" {dotted(leaf.path)}: " not in text] == []


def test_every_key_of_the_schemas_says_how_it_matters():
    paths = [leaf.path if file == STACK else ("tenants", "a", *leaf.path) for file, leaf in LEAVES]

    assert [path for path in paths if not matters_of_key(path)] == []


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, Leaf, Any, Any]:
    file, leaf = draw(st.sampled_from(LEAVES))
    values = values_of(leaf)
    before = draw(values)
    return file, leaf, before, draw(values.filter(lambda each: repr(each) != repr(before)))


@given(edits())
def test_any_key_that_gets_any_other_value_is_named(tmp_path_factory, edit):
    file, leaf, before, after = edit
    folder = tmp_path_factory.mktemp("files")

    report = reports(changed(folder, *versions([edit])))

    assert report.headline != "No applied object changes"
    [keys] = named_keys(report).values()
    assert list(named_keys(report)) == [file]
    # Where the values are mappings or lists, what is in them; where it is set or left out, what is empty without it.
    path = dotted(leaf.path)
    assert any(key == path or key.startswith((f"{path}.", f"{path}[")) for key in keys) or ABSENT in (before, after)
    # The name of a list's entry is what it is known by, so that with another name it is another entry.
    entry = path[: path.rfind("[0]")] if path.endswith("[0].name") else path
    assert all(key.startswith(entry) or path.startswith(key) for key in keys)
    for text in map(plain, (as_markdown(report), printed(report))):
        assert all(printable(key) in text for key in keys)


@given(edits())
def test_a_key_that_keeps_its_value_is_not_named(tmp_path_factory, edit):
    file, leaf, before, _ = edit
    folder = tmp_path_factory.mktemp("files")

    assert changed(folder, *versions([(file, leaf, before, before)])) == ()


def file(**sections):
    return StackFile("Pulumi.staging.yaml", sections)


def secure(value):
    return {"secure": f"v1:{value}"}


def key(value):
    return {"dev-team": {"source": {"deployKey": secure(value)}}}


def test_a_secret_with_another_encrypted_form_is_rotated():
    assert secret_changes(file(tenants=key("a")), file(tenants=key("b"))) == (
        SecretChange("dev-team", "tenants.dev-team.source.deployKey", Action.CHANGED),
    )


def test_a_secret_with_the_same_encrypted_form_is_not():
    assert secret_changes(file(tenants=key("a")), file(tenants=key("a"), flux=FLUX)) == ()


def test_new_and_removed_secrets_are_told_by_their_keys():
    before = file(cluster={"kubeconfigContent": secure("a")})
    after = file(flux={"sync": {"decryption": [{"age": secure("b")}]}})

    assert secret_changes(before, after) == (
        SecretChange(PLATFORM, "cluster.kubeconfigContent", Action.REMOVED),
        SecretChange(PLATFORM, "flux.sync.decryption[0].age", Action.ADDED),
    )


def test_secrets_of_a_stack_without_an_earlier_version_are_new():
    assert [each.action for each in secret_changes(None, file(tenants=key("a")))] == [Action.ADDED]


def test_no_part_of_an_encrypted_value_is_repeated():
    assert "v1:" not in repr(secret_changes(file(tenants=key("a")), file(tenants=key("b"))))


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
