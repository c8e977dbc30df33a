"""Whatever changes, a comment shows each change or counts it by kind and owner, and uses the room that it has."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_objects import kubernetes
from sample_reports import compared, is_complete, report, side

from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.markdown import LIMIT, as_markdown
from flux_tenancy.review.words.statement import Statement

_NAMED = re.compile(r"`(\w+) [^`]+`")


@dataclass(frozen=True)
class Batch:
    """Changes of objects of one kind.

    Attributes:
        owners: how many tenants have them; 0 for the platform.
        kind: their kind.
        action: what happens to them.
        count: how many each owner has.
        alike: whether they change in the same way.
        lines: lines that change in each.
    """

    owners: int
    kind: str
    action: str
    count: int
    alike: bool
    lines: int


BATCHES = st.builds(
    Batch,
    owners=st.sampled_from([0, 1, 1, 3, 40, 300]),
    kind=st.sampled_from(["ConfigMap", "Role", "Service"]),
    action=st.sampled_from(["added", "changed", "removed"]),
    count=st.sampled_from([1, 1, 2, 30, 100]),
    alike=st.booleans(),
    lines=st.sampled_from([1, 3, 40]),
).filter(lambda batch: batch.owners * batch.count <= 3000)


def sides(batches):
    """Both versions of a stack, and how many objects there are of each kind, action and class of owners."""
    before, after, found = [], [], Counter[tuple[bool, str, str]]()
    for number, batch in enumerate(batches):
        for owner in [f"t{index}" for index in range(batch.owners)] or [PLATFORM]:
            for index in range(batch.count):
                text = "new\n" if batch.alike else f"new {number} {owner} {index * 7919}\n"
                old, new = (
                    kubernetes(batch.kind, f"o{number}-{index}", f"{owner}-ns", owner, data=content * batch.lines)
                    for content in ("old\n", text)
                )
                before += [old] * (batch.action != "added")
                after += [new] * (batch.action != "removed")
                found[owner == PLATFORM, batch.kind, batch.action] += 1
    return side(*before), side(*after), found


def objects_in(label):
    """How many objects a list of names stands for."""
    names, _, last = label.rpartition(" and ")
    left = re.fullmatch(r"(\d+) more", last)
    return len(names.split(", ")) + (int(left[1]) if left else 1) if names else 1


def said_in(text):
    """How many objects are shown or counted, by class of owners, kind and action."""
    found = Counter[tuple[bool, str, str]]()
    for section in re.split("^### ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        of = title == "Platform"
        section = re.sub("```yaml.*?\n```", "", section, flags=re.DOTALL)
        for block in re.findall("```diff\n(.*?)\n```", section, re.DOTALL):
            for line in block.splitlines():
                if re.match(r"(ConfigMap|Role|Service) ", line):
                    kind, _, names = line.partition(" ")
                    found[of, kind, "changed"] += objects_in(names)
        for summary, block in re.findall(
            r"<summary>(Added|Removed)</summary>\n\n(.*?)\n\n</details>", section, re.DOTALL
        ):
            found.update((of, kind, summary.lower()) for kind in _NAMED.findall(block))
            for left, kind in re.findall(r"- … and (\d+) more of kind `(\w+)`", block):
                found[of, kind, summary.lower()] += int(left)
        for line in re.findall("Not shown: .*", section):
            for kind, counts in re.findall(r"`(\w+)` \(([^)]*)\)", line):
                for count, action in re.findall(r"(\d+) (\w+)", counts):
                    found[of, kind, action] += int(count)
        for kind, count, action in re.findall(r"^- `(\w+)`: (\d+) (\w+), of \S", section, re.MULTILINE):
            assert title == "Further changes"
            found[of, kind, action] += int(count)
    return found


@given(st.lists(BATCHES, min_size=1, max_size=5), st.sampled_from([8_000, 20_000, LIMIT]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_each_change_is_shown_or_counted_by_kind_and_owner(batches, limit):
    before, after, objects = sides(batches)

    text = as_markdown(report(compared(before, after)), limit)

    size = len(text.encode())
    assert size <= limit
    assert is_complete(text)
    assert said_in(text) == objects
    assert "shortened" not in text or limit < 20_000 or size >= 0.9 * limit


@given(st.lists(BATCHES.filter(lambda batch: batch.owners), max_size=4), st.sampled_from([8_000, LIMIT]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_a_single_change_of_the_platform_is_always_shown(batches, limit):
    before, after, _ = sides(batches)
    one, other = (
        side(kubernetes("ClusterRole", "odd", owner=PLATFORM, rules=rules)).render.objects for rules in (1, 2)
    )
    risks = tuple(Statement(f"t{n}", f"may do t{n} more", risk=True) for n in range(500))

    stack = compared(side(*before.render.objects, *one), side(*after.render.objects, *other))
    text = as_markdown(report(replace(stack, access=risks)), limit)

    assert "ClusterRole odd\n- rules: 1\n+ rules: 2\n" in text


@pytest.mark.parametrize("padding", [20, 3000])
@pytest.mark.parametrize("owner", ["a", PLATFORM])
def test_many_objects_of_one_owner_do_not_push_out_the_only_one_of_another_kind(owner, padding):
    before, after, _ = sides([Batch(0 if owner == PLATFORM else 1, "ConfigMap", "changed", padding, False, 40)])
    one, other = (side(kubernetes("Role", "odd", owner=owner, rules=rules)).render.objects for rules in (1, 2))

    text = as_markdown(report(compared(side(*before.render.objects, *one), side(*after.render.objects, *other))), 9_000)

    assert "Role odd\n- rules: 1\n+ rules: 2\n" in text


def test_many_tenants_do_not_push_out_the_only_change_of_its_kind():
    before, after, _ = sides([Batch(1000, "ConfigMap", "changed", 1, False, 3)])
    one, other = (
        side(kubernetes("Role", "odd" * 20, owner="z", rules=rules)).render.objects
        for rules in ("1\n" * 40, "2\n" * 40)
    )

    text = as_markdown(report(compared(side(*before.render.objects, *one), side(*after.render.objects, *other))), 9_000)

    assert "odd\n  rules:\n-   1\n" in text


def test_many_fields_of_an_object_do_not_push_out_a_short_one():
    before = kubernetes("Role", "a", text="x\n" * 5000, other={f"f{n}": "x" * 200 for n in range(500)}, rules=1)
    after = kubernetes("Role", "a", text="y\n" * 5000, other={f"f{n}": "y" * 200 for n in range(500)}, rules=2)

    text = as_markdown(report(compared(side(before), side(after))), 8_000)

    assert "- rules: 1\n+ rules: 2" in text


def test_the_first_keys_of_a_new_object_do_not_push_out_its_last():
    subjects = [{"kind": "User", "name": f"user-{n}"} for n in range(2000)]
    binding = kubernetes("RoleBinding", "a", asubjects=subjects, roleRef={"name": "cluster-admin"})

    assert "  name: cluster-admin\n" in as_markdown(report(compared(side(), side(binding))), 8_000)


def test_alike_objects_of_many_tenants_are_one_entry():
    before, after, _ = sides([Batch(300, "Role", "changed", 2, True, 1)])

    text = as_markdown(report(compared(before, after)))

    assert text.count("```diff") == 1
    assert "### 300 tenants: t0, t1, t10, t100, t101 and 295 more\n\n**On staging**: 600 objects changed\n" in text


def test_what_differs_between_tenants_is_no_part_of_an_entry_of_both():
    before = side(*(kubernetes("RoleBinding", name, name, name, roleRef="none") for name in ("view", "admin")))
    after = side(*(kubernetes("RoleBinding", name, name, name, roleRef=name) for name in ("view", "admin")))

    assert "+ roleRef: <tenant>" in as_markdown(report(compared(before, after)))


@given(st.integers(1, 3000), st.sampled_from([3_000, 20_000, LIMIT]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_risks_are_whole_or_counted_with_one_of_each_first(count, limit):
    risks = [Statement(f"t{n}", f"may do more in t{n}-{n}", risk=True) for n in range(count)]
    rare = Statement("t1", "may read Secrets of everybody", risk=True)

    text = as_markdown(report(replace(compared(side(), side()), access=(*risks, rare))), limit)

    shown, left = text.count("- **staging**: "), re.search(r"\n- … and (\d+) more\n", text)
    assert len(text.encode()) <= limit
    assert shown + (int(left[1]) if left else 0) == count + 1
    assert "may read Secrets of everybody" in text
    assert bool(left) == ("shortened" in text)
