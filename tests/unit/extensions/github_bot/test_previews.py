"""The result of `pulumi preview` in the comment."""

from __future__ import annotations

import json

import pytest
from sample_reports import is_complete

from flux_tenancy.extensions.github_bot.previews import PREVIEW_LIMIT, preview_block, with_previews

URN = "urn:pulumi:staging::flux-tenancy::flux-tenancy:index:Tenant$kubernetes:core/v1:Secret::apps/dev-team-git"
SECRET = {"inputs": {"stringData": {"identity": "hunter2"}}}


def step(op="update", urn=URN, **fields):
    return {"op": op, "urn": urn, "oldState": SECRET, "newState": SECRET, **fields}


def printed(*steps, errors=(), **summary):
    found = {"steps": list(steps), "changeSummary": summary, "config": {"flux-tenancy:key": "hunter2"}}
    return json.dumps(found | {"diagnostics": [{"message": text, "severity": "error"} for text in errors]})


def test_steps_are_counted_and_named_without_values():
    output = printed(step(detailedDiff={"data.a": {"kind": "update"}}), step("same"), update=1, same=7)

    text = preview_block("staging", output)

    assert text.startswith("**pulumi preview of staging**: 1 to update.\n\n<details>")
    assert text.count("\n- ") == 1
    assert "- update `Secret apps/dev-team-git`: changes `data.a`" in text
    assert "hunter2" not in text


def test_a_replacement_says_why():
    text = preview_block("staging", printed(step("replace", replaceReasons=["roleRef"]), replace=1))

    assert "- replace `Secret apps/dev-team-git`: replaced because of `roleRef`" in text


def test_nothing_to_change_is_one_line():
    assert (
        preview_block("staging", printed(step("same"), same=1)) == "**pulumi preview of staging**: nothing to change."
    )


def test_a_preview_with_an_error_failed():
    text = preview_block("staging", printed(errors=["<b>@octocat</b> refused"]))

    assert text.startswith("**pulumi preview of staging**: failed.")
    assert "\\<b\\>@\u200boctocat\\</b\\> refused" in text


@pytest.mark.parametrize(
    "output", ["", "error: x", "[]", '{"steps": 1}', "[" * 100_000, '{"steps": [{"op": 1, "urn": "a"}]}']
)
def test_what_is_no_preview_has_failed(output):
    assert preview_block("staging", output) == "**pulumi preview of staging** failed; the log of the run says why."


def test_text_of_others_has_no_effect():
    text = preview_block("staging", printed(step(urn=f"{URN}`</details>@octocat"), **{"</details>@octocat": 1}))

    assert is_complete(text)
    assert "1 to \\</details\\>@\u200boctocat" in text


def test_a_block_has_a_bound():
    text = preview_block("staging", printed(*(step(urn=f"{URN}{n}") for n in range(3000)), update=3000))

    assert PREVIEW_LIMIT * 0.9 < len(text.encode()) <= PREVIEW_LIMIT
    assert is_complete(text)
    assert "- … and " in text


def test_blocks_come_before_the_approval():
    text = with_previews("## a\n\n### Approve\n\nb\n", {"staging": "**x**: y.\n\nz", "eu": "**v**: w."})

    assert text == "## a\n\n### Preview in the cluster\n\n**v**: w.\n\n**x**: y.\n\nz\n\n### Approve\n\nb\n"


def test_a_report_without_an_approval_ends_with_the_blocks():
    assert with_previews("## a\n", {"eu": "b"}) == "## a\n\n### Preview in the cluster\n\nb\n"
    assert with_previews("## a\n", {}) == "## a\n"


def test_blocks_that_are_too_long_together_are_cut_to_their_first_paragraph():
    text = with_previews("## a\n", {"eu": f"b.\n\n{'c' * PREVIEW_LIMIT}", "us": "d.\n\ne"})

    assert text == "## a\n\n### Preview in the cluster\n\nb.\n\nd.\n\ne\n"
