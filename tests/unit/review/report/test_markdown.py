"""The comment of a pull request."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sample_objects import kubernetes
from sample_reports import compared, is_complete, report, side, waived_and_violated

from flux_tenancy.components.config.types import today
from flux_tenancy.review.render.rendered import PLATFORM
from flux_tenancy.review.report.markdown import LIMIT, as_markdown
from flux_tenancy.review.words import Statement

HOSTILE = "x`|</details>\n```\n# @octocat <!-- -->"


def large(tenants=300, risks=0):
    """A report about many tenants, each with another change of many lines, and risks."""
    before = side(*(kubernetes("ConfigMap", f"t{n}", owner=f"t{n}", data="a\n" * 14) for n in range(tenants)))
    after = side(*(kubernetes("ConfigMap", f"t{n}", owner=f"t{n}", data=f"b{n}\n" * 14) for n in range(tenants)))
    answer = tuple(Statement(f"t{n}", f"may do {n} more", risk=True) for n in range(risks))
    return report(replace(compared(before, after), said=answer))


def test_the_first_line_says_what_matters_and_risks_come_before_what_changes():
    assert as_markdown(large(2)).startswith("## 2 objects changed\n")
    text = as_markdown(large(2, risks=1))

    assert text.startswith("## t0 may do 0 more\n")
    assert text.index("### Risks") < text.index("### Tenant t0")
    assert "- **staging**: t0 may do 0 more." in text


def test_a_risk_of_several_tenants_names_them():
    answer = tuple(Statement(name, "may do more", risk=True) for name in ("a", "b", PLATFORM))

    text = as_markdown(report(replace(compared(side(), side()), said=answer)))

    assert "- **staging**: each of a, b and platform may do more." in text


def test_a_short_report_is_whole_and_only_a_long_diff_is_folded():
    text, long = as_markdown(large(2)), as_markdown(large(1))
    short = as_markdown(report(compared(side(kubernetes("Role", "a", x=1)), side(kubernetes("Role", "a", x=2)))))

    assert "shortened" not in text
    assert text.count("+   b0") == 14
    assert "```diff\nRole a\n- x: 1\n+ x: 2\n```" in short
    assert "<details><summary>Changed" not in short
    assert "**On staging**: 1 object changed\n\n<details><summary>Changed</summary>\n\n```diff\n" in long


@pytest.mark.parametrize("limit", [LIMIT, 20_000, 8_000])
@pytest.mark.parametrize("risks", [0, 40])
def test_a_long_report_is_cut_to_the_limit_between_its_parts(limit, risks):
    text = as_markdown(large(300, risks), limit)

    assert len(text.encode()) <= limit
    assert is_complete(text)
    assert "> This comment is shortened" in text
    assert len(re.findall("may do \\d+ more\\.\n", text)) == risks
    assert "```diff" not in text
    assert "flux-tenancy up --stack staging --approved sha256:" in text


def test_a_report_that_is_cut_keeps_its_limit_with_letters_of_several_bytes():
    before, after = (kubernetes("ConfigMap", "a", data=f"{mark}\n" * 3000) for mark in ("é", "ü"))

    assert len(as_markdown(report(compared(side(before), side(after))), 2000).encode()) <= 2000


def test_text_of_others_has_no_effect():
    before, after = (kubernetes("ConfigMap", HOSTILE, data=f"{HOSTILE}{n}", owner=HOSTILE) for n in (1, 2))
    stack = replace(compared(side(before), side(after)), said=(Statement(HOSTILE, HOSTILE, risk=True),))

    text = as_markdown(report(stack))

    outside = MarkdownIt("gfm-like").disable("linkify").parse(text)
    assert is_complete(text)
    own = ["<details><summary>Commands that apply exactly these changes</summary>\n", "</details>\n"]
    assert [token.content for token in outside if token.type == "html_block"] == own
    assert "@octocat" not in "".join(token.content for token in outside if token.type != "fence")


def test_a_missing_acknowledgement_says_what_goes_and_how_to_accept_it():
    before = side(kubernetes("Namespace", "apps"), kubernetes("Role", "a", "apps"))
    [deletion] = compared(before, side()).deletions

    text = as_markdown(report(compared(before, side())))

    assert "> [!CAUTION]\n> **Deletions that need an acknowledgement**\n>\n> - **Tenant dev-team** on staging: " in text
    assert "2 objects are deleted; everything in namespace apps is deleted" in text
    assert f"add `{deletion.token}` to `review.acknowledge` in `Pulumi.staging.yaml`." in text


def test_releases_link_to_the_changelog():
    text = as_markdown(report(compared(side(flux={"version": "2.9.4"}), side(flux={"version": "2.9.5"}))))

    assert "[changelog](https://github.com/fluxcd/flux2/releases/tag/v2.9.5)" in text


def test_a_change_of_nothing_needs_no_approval():
    text = as_markdown(report(compared(side(), side())))

    assert text == "## No applied object changes\n\nCompared with main at 0123456789.\n"
    assert report().headline == "No applied object changes"


def test_what_is_particular_about_stacks_is_said_once():
    stacks = [compared(side(), side(), name, note="the merge base is odd") for name in ("production", "staging")]

    text = as_markdown(report(*stacks, compared(None, side(), "new"), compared(side(), None, "old")))

    assert "- production and staging: the merge base is odd." in text
    assert "- new is a new stack." in text
    assert "- old is no longer described; its objects stay until \\`pulumi destroy --stack old\\`." in text


def test_violations_of_the_rules_come_with_the_risks_and_waivers_after_them():
    unchanged = side(kubernetes("Role", "a"))
    findings = waived_and_violated("Until [they](https://a) *leave*")
    found = [replace(compared(unchanged, unchanged, stack), findings=findings) for stack in ("one", "two")]

    text = as_markdown(report(*found))

    assert text.startswith("## 1 violation of the review rules\n")
    before, after = text.split("### Waivers\n\n")
    assert (
        "### Violations of the review rules\n\n- **one and two**: no-policy-engine: policies.engine is none" in before
    )
    assert "or agree on a waiver" in before
    assert after.startswith("- **one and two**: admin-binding of tenant dev-team: RoleBinding apps/admin grants a")
    assert f"waived until {today()}: Until \\[they" in after and "*leave*." not in after


def test_a_report_that_is_cut_links_to_the_whole():
    address = "https://github.com/o/r/actions/runs/7"

    assert f"The whole is in [the summary of the run]({address})" in as_markdown(large(100), 8_000, address)
    assert address not in as_markdown(large(2), whole_at=address)


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
    stack = replace(compared(side(), side()), said=risks, warnings=tuple(f"{n} expires" for n in range(2000)))

    text = as_markdown(report(stack), 10_000)

    assert len(text.encode()) <= 10_000
    assert text.count(" expires.\n") > 100 and text.count(" more.\n") > 100
    assert text.endswith("\n")


def test_alike_objects_of_many_tenants_are_shown_once():
    before, after = sides([Batch(300, "Role", "changed", 2, True, 1)])

    text = as_markdown(report(compared(before, after)))

    assert text.startswith("## 600 objects changed\n")
    assert text.count("```diff") == 1
    assert "### 300 tenants: t0, t1, t10, t100, t101 and 295 more\n\n**On staging**: 600 objects changed\n" in text


@given(st.integers(1, 3000), st.sampled_from([3_000, 20_000, LIMIT]))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_risks_are_whole_or_counted_with_one_of_each_first(count, limit):
    risks = [Statement(f"t{n}", f"may do more in t{n}-{n}", risk=True) for n in range(count)]
    rare = Statement("t1", "may read Secrets of everybody", risk=True)

    text = as_markdown(report(replace(compared(side(), side()), said=(*risks, rare))), limit)

    shown, left = text.count("- **staging**: "), re.search(r"\n- … and (\d+) more\n", text)
    assert len(text.encode()) <= limit
    assert shown + (int(left[1]) if left else 0) == count + 1
    assert "may read Secrets of everybody" in text
    assert bool(left) == ("shortened" in text)
