"""Whatever changes, a comment keeps its limit and is complete."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from sample_objects import kubernetes
from sample_reports import compared, is_complete, report, side

from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.markdown import LIMIT, as_markdown
from flux_tenancy.review.words.statement import Statement


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
    """Both versions of a stack."""
    before, after = [], []
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
    return side(*before), side(*after)


@given(st.lists(BATCHES, min_size=1, max_size=5), st.sampled_from([2_000, 8_000, 20_000, LIMIT]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_comment_keeps_its_limit_and_is_complete(batches, limit):
    before, after = sides(batches)

    text = as_markdown(report(compared(before, after)), limit)

    assert len(text.encode()) <= limit
    assert is_complete(text)
    assert text.startswith("## ") and "flux-tenancy up --stack staging --approved sha256:" in text


def test_a_list_that_is_too_long_leaves_room_for_the_others():
    risks = tuple(Statement(f"t{n}", f"may do {n} more", risk=True) for n in range(2000))
    stack = replace(compared(side(), side()), access=risks, warnings=tuple(f"{n} expires" for n in range(2000)))

    text = as_markdown(report(stack), 10_000)

    assert len(text.encode()) <= 10_000
    assert text.count(" expires.\n") > 100 and text.count(" more.\n") > 100
    assert text.endswith("\n")


def test_alike_objects_of_many_tenants_are_one_entry():
    before, after = sides([Batch(300, "Role", "changed", 2, True, 1)])

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
