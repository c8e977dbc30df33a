"""The lines of a diff, and what of it is noise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.components.plan import OWNERSHIP
from flux_tenancy.components.policies.component import PROBE_NAME
from flux_tenancy.review.changes.fields import as_yaml_lines, diff, is_noise, label, masked
from flux_tenancy.review.changes.objects import Action, ObjectChange, changes


def lines(change):
    return [line for part in diff(change) for line in part]


def changed(kind="Role", before=None, after=None, name="a"):
    [change] = changes(render_of(kubernetes(kind, name, **before)), render_of(kubernetes(kind, name, **after)))
    return change


def of_spec(before, after):
    return lines(changed(before={"spec": before}, after={"spec": after}))


def metadata(**parts):
    return {"metadata": parts}


def test_objects_are_called_by_kind_namespace_and_name():
    assert label(kubernetes("Role", "dev-team", "apps")) == "Role apps/dev-team"
    assert label(kubernetes("Namespace", "apps")) == "Namespace apps"


def test_a_field_has_a_line_for_each_of_its_values():
    assert of_spec({"a": "old", "b": 1}, {"a": "new", "c": [True]}) == [
        "- spec.a: old",
        "+ spec.a: new",
        "- spec.b: 1",
        "+ spec.c: [true]",
    ]


@pytest.mark.parametrize("text", ["1", "true", "No", "", "null", 'say "x"'])
def test_a_text_that_looks_like_another_value_is_quoted(text):
    [line] = of_spec({}, {"a": text})

    assert line.startswith('+ spec.a: "')


def test_texts_of_several_lines_show_the_lines_that_differ():
    assert of_spec({"a": "one\ntwo\n"}, {"a": "one\nthree\n"}) == ["  spec.a:", "-   two", "+   three"]


def test_a_removed_line_that_looks_like_a_heading_is_shown():
    assert of_spec({"a": "x\n-- foo\n"}, {"a": "x\n++ bar\n"}) == ["  spec.a:", "-   -- foo", "+   ++ bar"]


def test_long_values_show_where_they_differ():
    start, end = "a" * 300, "b" * 300

    assert of_spec({"a": f"{start}old{end}"}, {"a": f"{start}new{end}"}) == [
        f"- spec.a: …{'a' * 60}old{'b' * 60}…",
        f"+ spec.a: …{'a' * 60}new{'b' * 60}…",
    ]


def test_long_values_that_repeat_a_part_show_what_is_more():
    assert of_spec({"a": "a" * 300}, {"a": "a" * 301}) == [
        f"- spec.a: …{'a' * 60}",
        f"+ spec.a: …{'a' * 61}",
    ]


def test_a_long_part_that_is_repeated_is_shown_with_what_is_around_it():
    start, part, end = "a" * 100, "".join(f"{number}," for number in range(100)), "b" * 100

    before, after = of_spec({"a": start + part + end}, {"a": start + part + part + end})

    assert before == f"- spec.a: …{part[-60:]}{end[:60]}…"
    assert after.startswith(f"+ spec.a: …{part[-60:]}0,1,2,")


def test_a_long_new_value_is_cut():
    [line] = of_spec({}, {"a": "x" * 500})

    assert line.endswith("x… (260 more characters)")
    assert len(line) < 300


def test_each_field_is_a_part_of_the_diff():
    found = diff(changed(before={"spec": {}}, after={"spec": {f"f{number:02}": number for number in range(50)}}))
    assert list(found) == [(f"+ spec.f{number:02}: {number}",) for number in range(50)]


def test_an_added_object_is_shown_as_yaml_by_its_keys():
    found = as_yaml_lines(kubernetes("Role", "a", "apps", rules=[{"verbs": ["get"]}]))

    assert found == (
        ("apiVersion: example.com/v1", "kind: Role", "metadata:", "  name: a", "  namespace: apps"),
        ("rules:", "- verbs:", "  - get"),
    )


def test_the_yaml_of_a_protected_object_says_so():
    assert as_yaml_lines(replace(kubernetes("Role", "a"), protected=True))[0] == ("# protect: true",)


def test_the_yaml_of_a_secret_does_not_show_it():
    found = as_yaml_lines(kubernetes("Secret", "a", stringData={"a": "hunter2"}))

    assert found[-1] == ("stringData:", "  a: (not shown)")


def test_annotations_that_every_object_has_are_left_out_of_the_yaml():
    metadata = {"annotations": {**OWNERSHIP, "note": "x"}}

    assert as_yaml_lines(kubernetes("Role", "a", metadata=metadata))[0][-2:] == ("  annotations:", "    note: x")


def test_a_change_without_names_is_the_same_for_objects_that_are_alike():
    secret = {"key": "<encrypted tenants.apps.key 0123456789abcdef>"}
    content = {"stringData": secret, "secretRef": {"name": "apps-git"}, "text": "apps", "roleRef": {"name": "apps"}}

    found = masked(ObjectChange(Action.ADDED, kubernetes("Secret", "a", "apps", "apps", **content))).object.manifest

    assert found["metadata"] == {"name": "<name>", "namespace": "<tenant>"}
    assert found["secretRef"]["name"] == "<tenant>-git"
    assert found["stringData"]["key"] == "<encrypted tenants.<tenant>.key …>"
    assert (found["text"], found["roleRef"]["name"]) == ("apps", "apps")


def test_values_of_secrets_are_not_shown():
    found = lines(
        changed("Secret", {"stringData": {"a": "hunter2"}, "type": "Opaque"}, {"stringData": {"a": "swordfish"}})
    )

    assert found == ["- stringData.a: (not shown)", "+ stringData.a: (not shown)", "- type: Opaque"]


def test_a_new_mapping_of_secrets_does_not_show_them():
    assert lines(changed("Secret", {}, {"data": {"a": "hunter2"}})) == ['+ data: {"a": "(not shown)"}']


def test_stand_ins_of_secrets_are_shown():
    before, after = (f"<encrypted tenants.a.source.deployKey {digest}>" for digest in ("01", "02"))

    assert lines(changed("Secret", {"stringData": {"identity": before}}, {"stringData": {"identity": after}})) == [
        f"- stringData.identity: {before}",
        f"+ stringData.identity: {after}",
    ]


def test_a_secret_beside_a_stand_in_is_not_shown():
    after = "<encrypted tenants.a.source.deployKey 01> hunter2"

    assert lines(changed("Secret", {}, {"stringData": {"a": after}})) == ['+ stringData: {"a": "(not shown)"}']


def test_characters_that_control_a_terminal_become_spaces():
    assert of_spec({}, {"a": "x\x1b[31m\u202ey"}) == [r"+ spec.a: x\x1b[31m\u202ey"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (metadata(labels={"app.kubernetes.io/version": "1"}), metadata(labels={"app.kubernetes.io/version": "2"})),
        (metadata(), metadata(annotations={"description": "x"})),
        (
            {"spec": {"template": metadata(labels={"team": "1"})}},
            {"spec": {"template": metadata(labels={"team": "2"})}},
        ),
    ],
)
def test_labels_and_annotations_that_only_describe_are_noise(before, after):
    assert is_noise(changed(before=before, after=after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (metadata(labels={"pod-security.kubernetes.io/enforce": "a"}), metadata(labels={})),
        (metadata(), metadata(annotations={"flux-tenancy/sources": "ssh://x"})),
        (metadata(), metadata(labels={"toolkit.fluxcd.io/tenant": "x"})),
        (metadata(labels={"v": "1"}), metadata(labels={"v": "2"}) | {"spec": 1}),
        (metadata(), metadata(finalizers=["x"])),
    ],
)
def test_what_decides_on_access_or_content_is_no_noise(before, after):
    assert not is_noise(changed(before=before, after=after))


def test_labels_that_only_describe_come_last():
    found = lines(changed(before=metadata(labels={"team": "1"}), after=metadata(labels={"team": "2"}) | {"spec": 1}))

    assert found == ["+ spec: 1", '- metadata.labels.team: "1"', '+ metadata.labels.team: "2"']


def test_the_digest_of_all_policies_is_noise():
    assert is_noise(changed(name=PROBE_NAME, before={"spec": "digest 1"}, after={"spec": "digest 2"}))
