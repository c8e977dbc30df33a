"""Whatever changes, a comment keeps its limit, and shows each change or counts it by kind."""

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
    """Both versions of a stack, and how many objects there are of each kind and action."""
    before, after, found = [], [], Counter[tuple[str, str]]()
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
                found[batch.kind, batch.action] += 1
    return side(*before), side(*after), found


def objects_in(label):
    """How many objects a list of names stands for."""
    names, _, last = label.rpartition(" and ")
    left = re.fullmatch(r"(\d+) more", last)
    return len(names.split(", ")) + (int(left[1]) if left else 1) if names else 1


def said_in(text):
    """How many objects are shown or counted, by kind and action."""
    found = Counter[tuple[str, str]]()
    text = re.sub("```yaml.*?\n```", "", text, flags=re.DOTALL)
    for block in re.findall("```diff\n(.*?)\n```", text, re.DOTALL):
        for line in block.splitlines():
            if re.match(r"(ConfigMap|Role|Service) ", line):
                kind, _, names = line.partition(" ")
                found[kind, "changed"] += objects_in(names)
    for summary, block in re.findall(r"<summary>(Added|Removed)</summary>\n\n(.*?)\n\n</details>", text, re.DOTALL):
        found.update((kind, summary.lower()) for kind in _NAMED.findall(block))
    _, _, counted = text.partition("### Changed objects and keys\n")
    for kind, counts in re.findall(r"`(\w+)` \(([^)]*)\)", counted):
        for count, action in re.findall(r"(\d+) (\w+)", counts):
            found[kind, action] += int(count)
    return found


@given(st.lists(BATCHES, min_size=1, max_size=5), st.sampled_from([2_000, 8_000, 20_000, LIMIT]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_each_change_is_shown_or_counted_by_kind(batches, limit):
    before, after, objects = sides(batches)

    text = as_markdown(report(compared(before, after)), limit)

    assert len(text.encode()) <= limit
    assert is_complete(text)
    assert said_in(text) == objects


@given(st.lists(BATCHES.filter(lambda batch: batch.owners), max_size=4), st.sampled_from([8_000, LIMIT]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_nothing_pushes_out_a_single_change_of_the_platform(batches, limit):
    before, after, _ = sides(batches)
    one, other = (
        side(kubernetes("ClusterRole", "odd", owner=PLATFORM, rules=rules)).render.objects for rules in (1, 2)
    )
    risks = tuple(Statement(f"t{n}", f"may do t{n} more", risk=True) for n in range(500))

    stack = compared(side(*before.render.objects, *one), side(*after.render.objects, *other))
    text = as_markdown(report(replace(stack, access=risks)), limit)

    assert (
        "ClusterRole odd\n- rules: 1\n+ rules: 2\n" in text
        or "- Platform on staging: `ClusterRole` (1 changed)\n" in text
    )


def test_many_tenants_do_not_push_out_the_only_change_of_its_kind():
    before, after = (
        side(
            kubernetes("Role", "odd", owner="z", rules=mark),
            *(kubernetes("ConfigMap", f"c{n}", owner=f"t{n}", data=f"{mark}{n * 7919}") for n in range(1000)),
        )
        for mark in ("old", "new")
    )

    text = as_markdown(report(compared(before, after)), 9_000)

    assert "- Tenant z on staging: `Role` (1 changed)\n" in text
    assert re.search(r"\n- … and \d+ more: `ConfigMap` \(\d+ changed\)\n", text)


@pytest.mark.parametrize("limit", [3_000, LIMIT])
@pytest.mark.parametrize("sentences", [1, 3000])
def test_what_is_said_of_access_is_whole_or_counted_with_one_of_each_first(sentences, limit):
    said = [Statement(f"t{n}", f"may do more in t{n}-{n}") for n in range(sentences)]
    rare = Statement("z", "may read Secrets of everybody")
    before, after = (side(kubernetes("ConfigMap", "a", data=f"{text}\n" * 30_000)) for text in ("old", "new"))

    text = as_markdown(report(replace(compared(before, after), access=(*said, rare))), limit)

    _, _, section = text.partition("### Access and settings\n")
    assert len(text.encode()) <= limit
    assert "z may read Secrets of everybody." in section
    shown, left = section.count("- **staging**: "), re.search(r"\n- … and (\d+) more\n", section)
    assert shown + (int(left[1]) if left else 0) == sentences + 1


def test_a_list_that_is_too_long_leaves_room_for_the_others():
    risks = tuple(Statement(f"t{n}", f"may do {n} more", risk=True) for n in range(2000))
    stack = replace(compared(side(), side()), access=risks, warnings=tuple(f"{n} expires" for n in range(2000)))

    text = as_markdown(report(stack), 10_000)

    assert len(text.encode()) <= 10_000
    assert text.count(" expires.\n") > 100 and text.count(" more.\n") > 100
    assert text.endswith("\n")


def test_alike_objects_of_many_tenants_are_one_entry():
    before, after, _ = sides([Batch(300, "Role", "changed", 2, True, 1)])

    text = as_markdown(report(compared(before, after)))

    assert text.count("```diff") == 1
    assert "### 300 tenants: t0, t1, t10, t100, t101 and 295 more\n\n**On staging**: 600 objects changed\n" in text


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
