"""The one comment of a pull request: whose it is, what it may hold, and that it is updated in place."""

from __future__ import annotations

import json
import time

import pytest
from message_codes import code_of_refusal
from sample_reports import is_complete
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.extensions.github_bot import connection
from flux_tenancy.extensions.github_bot.connection import unpacked
from flux_tenancy.extensions.github_bot.report_comment import (
    ARTIFACT,
    BASE_MOVED,
    BODY_LIMIT,
    HEAD_MOVED,
    MARKER,
    PROGRAM_CHANGED,
    RUN_FAILED,
    is_part_of_the_report,
)
from flux_tenancy.extensions.github_bot.untrusted_markdown import (
    BREAK,
    PREVIEW_LIMIT,
    cut,
    neutralized,
    preview_block,
    with_previews,
)
from tests.support.fake_github import BASE, BOT, HEAD, OTHER_HEAD, REPOSITORY, TOKEN, FakeGitHub, archive

DIGEST = "sha256:" + "0123456789abcdef" * 4
DIGESTS = json.dumps({"stack": "staging", "digest": DIGEST, "objects": {}})
REPORT = "1 tenant onboarded, no risk\n\n| tenant | change |\n| --- | --- |\n| dev-team | a role |\n"
PULL, RUN = 7, 41


@pytest.fixture
def host(host: FakeGitHub) -> FakeGitHub:
    """A host with one pull request, and the run that has made its report."""
    host.pull(PULL)
    host.run(RUN)
    reports(host, base=BASE, digests=DIGESTS)
    return host


def reports(host: FakeGitHub, report: str = REPORT, *, base: str | None = None, digests: str | None = None) -> None:
    """Let the run leave a report behind, made for a commit of the base and with digests of a stack."""
    files = {"comment.md": report, "base": base, "staging/digest.json": digests}
    host.artifacts[RUN, ARTIFACT] = archive({name: text for name, text in files.items() if text is not None})


def post(run: int = RUN) -> Result:
    return CliRunner().invoke(app, ["ci", "comment", "--run", str(run)])


def bodies(host: FakeGitHub) -> list[str]:
    return [each["body"] for each in host.comments]


def test_the_comment_has_the_report_what_merging_applies_and_the_run(host):
    assert post().exit_code == 0

    [body] = bodies(host)
    assert body.startswith(f"{MARKER}\n{REPORT.strip()}\n")
    assert f"- `staging`: `{DIGEST}`" in body
    assert HEAD[:10] in body and f"actions/runs/{RUN}" in body
    assert f"base `main` at `{BASE[:10]}`" in body.rpartition("\n")[2]
    assert "[!" not in body


def test_the_report_acts_on_nobody(host):
    reports(host, "@acme/admins, see #1 <img src=x>")

    post()

    assert f"@{BREAK}acme/admins, see #{BREAK}1 <{BREAK}img src=x>" in bodies(host)[0]


def test_the_second_report_replaces_the_first_in_the_same_comment_and_the_same_one_writes_nothing(host):
    post()
    host.comment(PULL, "reviewer", "Why this role?")
    host.writes.clear()
    assert post().stdout.startswith("Unchanged:") and host.writes == []

    host.run(RUN + 1)
    host.artifacts[RUN + 1, ARTIFACT] = archive({"comment.md": "nothing changes"})

    assert post(RUN + 1).stdout.startswith("Updated:")

    first, second = bodies(host)
    assert "nothing changes" in first and REPORT.strip() not in first
    assert second == "Why this role?"


def test_a_comment_of_somebody_else_with_the_marker_is_not_taken_for_ours(host):
    host.comment(PULL, "mallory", f"{MARKER}\nall is well")

    post()

    assert [each["user"]["login"] for each in host.comments] == ["mallory", BOT]
    assert bodies(host)[0] == f"{MARKER}\nall is well"


def test_a_token_of_a_user_updates_the_comments_of_that_user(host):
    host.user = "platform-bot"
    host.comment(PULL, BOT, f"{MARKER}\nby the workflow")

    post()
    post()

    assert [each["user"]["login"] for each in host.comments] == [BOT, "platform-bot"]


def test_the_pull_request_of_a_fork_is_found_by_its_branch_and_head(host):
    host.pulls.clear()
    host.pull(3, owner="acme")
    host.pull(4, owner="stranger")
    host.run(RUN, owner="stranger")

    post()

    assert [each["issue"] for each in host.comments] == [4]


def test_a_pull_request_that_has_moved_on_gets_no_outdated_report(host):
    host.pull(PULL, head=OTHER_HEAD)

    done = post()

    assert done.exit_code == 0 and "moved on" in done.stdout
    assert host.comments == []


def test_a_number_in_the_artifact_is_not_read(host):
    host.pull(8, head=OTHER_HEAD, branch="other")
    host.artifacts[RUN, ARTIFACT] = archive({"comment.md": REPORT, "number": "8", "pull_request.json": '{"number": 8}'})

    post()

    assert [each["issue"] for each in host.comments] == [PULL]


@pytest.mark.parametrize("state", ["open", "closed"])
def test_a_run_of_two_pull_requests_from_one_branch_is_reported_in_neither(host, state):
    """The second has another base, with a program that its author controls; it can be closed and its run repeated."""
    post()
    host.pull(8)
    host.pulls[8] |= {"state": state, "base": {"sha": OTHER_HEAD, "ref": "theirs"}}

    assert post().exit_code == 0

    assert [each["issue"] for each in host.comments] == ([PULL, 8] if state == "open" else [PULL])
    assert all("several pull requests" in body and DIGEST not in body for body in bodies(host))


@pytest.mark.parametrize(("when", "refused"), [("2026-11-23T02:59:59Z", False), ("2026-11-23T03:00:01Z", True)])
def test_a_run_from_before_the_base_was_changed_is_not_reported(host, when, refused):
    host.timelines[PULL] = [{"event": "base_ref_changed", "created_at": when}]

    post()

    assert ("before the base of this pull request was changed" in bodies(host)[0]) == refused
    assert (DIGEST in bodies(host)[0]) != refused


@pytest.mark.parametrize("base", ["", OTHER_HEAD, "`@admin`"])
def test_a_report_for_an_earlier_base_is_outdated_at_once(host, base):
    reports(host, base=base)

    post()

    assert bodies(host)[0].startswith(f"{MARKER}\n\n{BASE_MOVED}\n\n") and "@admin" not in bodies(host)[0]


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_run_that_begins_marks_the_comment_as_outdated_once(host, status):
    post()
    before = bodies(host)[0]
    host.runs[RUN]["status"] = status

    post()
    marked = bodies(host)[0]
    post()

    assert marked == bodies(host)[0] == before.replace(MARKER, f"{MARKER}\n\n{HEAD_MOVED}\n", 1)


def test_a_run_that_begins_creates_no_comment(host):
    host.runs[RUN]["status"] = "queued"

    assert post().exit_code == 0 and host.comments == []


def test_a_base_that_moves_marks_the_comments_of_its_pull_requests_alone(host):
    post()
    host.pull(8, head=OTHER_HEAD, branch="other")
    host.pulls[8]["base"] = {"sha": BASE, "ref": "next"}
    host.comment(8, BOT, f"{MARKER}\nof another base")
    outdated = ["ci", "comment", "--moved", "main"]

    assert "No report is outdated" in CliRunner().invoke(app, outdated).stdout
    host.tips["main"] = OTHER_HEAD
    assert CliRunner().invoke(app, outdated).stdout.count("Updated:") == 1

    assert bodies(host)[0].startswith(f"{MARKER}\n\n{BASE_MOVED}\n\n{REPORT.strip()}")
    assert bodies(host)[1] == f"{MARKER}\nof another base"


@pytest.mark.parametrize(
    "report", [f"at `{OTHER_HEAD[:10]}`", "paragraph\n\n" * 10_000], ids=["of the new base", "longest"]
)
def test_whatever_a_report_says_it_can_be_marked(host, report):
    """One that names the new base does not pretend to be of it, and a longest comment stays within the limit."""
    reports(host, report, base=BASE)
    post()
    host.tips["main"] = OTHER_HEAD

    CliRunner().invoke(app, ["ci", "comment", "--moved", "main"])

    assert BASE_MOVED in bodies(host)[0] and len(bodies(host)[0]) <= BODY_LIMIT


def test_a_failed_run_without_a_report_replaces_the_benign_one(host):
    post()
    host.run(RUN + 1)
    host.runs[RUN + 1]["conclusion"] = "failure"

    assert post(RUN + 1).exit_code == 0

    [body] = bodies(host)
    assert REPORT.strip() not in body and DIGEST not in body and "No report: run 42 has no artifact review" in body


def test_a_failed_run_with_a_report_says_so_first(host):
    host.runs[RUN]["conclusion"] = "failure"

    post()

    assert bodies(host)[0].startswith(f"{MARKER}\n\n{RUN_FAILED}\n\n{REPORT.strip()}")


def test_the_warning_of_a_changed_program_cannot_be_folded_away_and_its_digests_are_not_shown(host):
    host.changed[PULL] = ["__main__.py"]
    reports(host, "<details><summary>all is well</summary>", base=BASE, digests=DIGESTS)

    post()

    assert bodies(host)[0].startswith(f"{MARKER}\n\n{PROGRAM_CHANGED}\n\n<details>")
    assert DIGEST not in bodies(host)[0]


def test_the_results_of_previews_are_in_the_comment_and_act_on_nobody(host):
    host.artifacts[RUN, "preview-staging"] = archive(
        {"preview.md": "**pulumi preview of staging**: @admin 1 to create."}
    )
    host.artifacts[RUN, "preview-.."] = archive({"preview.md": "of no stack"})
    host.artifacts[RUN, "preview-broken"] = b"no archive"

    post()

    assert f"**pulumi preview of staging**: @{BREAK}admin 1 to create." in bodies(host)[0]
    assert "of no stack" not in bodies(host)[0]


@pytest.mark.parametrize("event", ["push", "workflow_dispatch", "schedule"])
def test_a_run_of_another_event_has_no_pull_request(host, event):
    host.run(RUN, event=event)
    assert code_of_refusal(post()) == "FT-REV-517"


@pytest.mark.parametrize(
    ("files", "warned"),
    [
        (["Pulumi.production.yaml", "tenants/shop.yaml", "docs/review.md", "README.md"], False),
        (["tenants/shop.yaml", "flux_tenancy/review/report/markdown.py"], True),
        (["__main__.py"], True),
        (["tenants/shop.yaml/../../flux_tenancy/review/render/stack.py"], True),
        (["Makefile"], True),
        ([".github/workflows/review.yaml"], True),
        ([], True),
    ],
)
def test_a_report_of_a_changed_program_says_so(host, files, warned):
    host.changed[PULL] = files
    if not files:  # The list is cut off.
        host.pulls[PULL]["changed_files"] = 3_001

    post()

    assert ("changes the program itself" in bodies(host)[0]) == warned


@pytest.mark.parametrize(
    "content",
    [
        archive({"other.md": REPORT}),
        archive({"comment.md": REPORT, "staging/digest.json": "{}"}),
        archive({"comment.md": REPORT, "staging/digest.json": DIGESTS.replace(DIGEST, "`@admin`")}),
        archive({"comment.md": "x" * (connection.FILE_LIMIT + 1)}),
        archive({"comment.md": "x" * 500_000}),
        b"#!/bin/sh",
    ],
    ids=["no report", "no digests", "other digests", "too large", "a bomb", "no archive"],
)
def test_an_artifact_that_no_report_comes_from_is_an_error(host, content):
    post()
    host.artifacts[RUN, ARTIFACT] = content

    assert code_of_refusal(post()) == "FT-REV-516"
    assert "No report: artifact review" in bodies(host)[0] and REPORT.strip() not in bodies(host)[0]


def test_an_artifact_that_is_larger_than_the_host_says_is_not_read(host, monkeypatch):
    listed = host._artifacts

    def understated(run):
        return {"artifacts": [each | {"size_in_bytes": 1} for each in listed(run)["artifacts"]]}

    monkeypatch.setattr(connection, "ARCHIVE_LIMIT", 100)
    monkeypatch.setattr(host, "_artifacts", understated)

    assert code_of_refusal(post()) == "FT-REV-516"


def test_a_run_without_an_archive_is_an_error(host):
    host.artifacts.clear()

    assert code_of_refusal(post()) == "FT-REV-513"


@pytest.mark.parametrize("at", ["content", "list", "end", "flags", "method"])
def test_a_damaged_archive_is_an_error(host, at):
    content = bytearray(archive({"comment.md": " ".join(map(str, range(5_000)))}))
    listed = content.rindex(b"PK\x01\x02")
    if at == "content":
        content[200:300] = b"\xff" * 100
    elif at == "list":
        content[listed + 46 : listed + 50] = b"\xff" * 4
    elif at == "end":
        del content[listed + 20 :]
    elif at == "flags":  # encrypted
        content[6] |= 1
        content[listed + 8] |= 1
    else:
        content[8] = content[listed + 10] = 99
    host.artifacts[RUN, ARTIFACT] = bytes(content)

    assert code_of_refusal(post()) == "FT-REV-516"


@pytest.mark.parametrize("path", ["/archives/", f"/repos/{REPOSITORY}"], ids=["download", "answer"])
def test_an_answer_that_is_cut_off_is_an_error(host, path):
    host.cut_off = (path,)

    assert code_of_refusal(post()) == "FT-REV-512"


def test_only_files_that_are_asked_for_are_read():
    content = archive({"comment.md": REPORT, "../../etc/passwd": "x", "a/b/digest.json": "x", "digest.json": "x"})

    assert list(unpacked(content, is_part_of_the_report) or ()) == ["comment.md"]


@pytest.mark.parametrize(
    ("count", "text", "is_read"),
    [(2, "0123456789", True), (3, "0123456789", False), (connection.COUNT_LIMIT + 1, "", False)],
)
def test_the_files_of_an_archive_are_bounded_together_and_in_number(monkeypatch, count, text, is_read):
    monkeypatch.setattr(connection, "TOTAL_LIMIT", 20)
    content = archive({f"{number}/digest.json": text for number in range(count)})

    assert (unpacked(content, is_part_of_the_report) is not None) is is_read


@pytest.mark.parametrize("options", [(), ("--run", str(RUN), "--moved", "main")])
def test_a_comment_is_of_a_run_or_of_a_branch_that_has_moved_on(host, options):
    done = CliRunner().invoke(app, ["ci", "comment", *options])

    assert (done.exit_code, bodies(host)) == (2, []) and "name either --run or --moved" in done.stderr


@pytest.mark.parametrize("variable", ["GITHUB_TOKEN", "GITHUB_REPOSITORY"])
def test_a_missing_variable_is_named(host, monkeypatch, variable):
    monkeypatch.setenv(variable, "")

    failed = post()

    assert code_of_refusal(failed) == "FT-REV-510" and variable in failed.stderr


def test_a_refused_token_is_an_error_that_does_not_repeat_it(host, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "another-token")

    failed = post()

    assert code_of_refusal(failed) == "FT-REV-511"
    assert TOKEN not in failed.output and "another-token" not in failed.output


def test_a_host_that_does_not_answer_is_an_error(host, monkeypatch):
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")

    assert code_of_refusal(post()) == "FT-REV-512"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("ping @acme/admins", f"ping @{BREAK}acme/admins"),
        ("@&#97;dmin", f"@{BREAK}&#97;dmin"),
        ("&#64;admin &#x40;admin &commat;admin", f"&#64;{BREAK}admin &#x40;{BREAK}admin &commat;{BREAK}admin"),
        ("closes #12, acme/other#3 and GH-4", f"closes #{BREAK}12, acme/other#{BREAK}3 and GH-{BREAK}4"),
        ("&#35;12", f"&#35;{BREAK}12"),
        ("![](https://evil.test/seen)", f"!{BREAK}[]{BREAK}(https://evil.test/seen)"),
        ("a [link](https://evil.test)", f"a [link]{BREAK}(https://evil.test)"),
        ("a [link](https://github.com.evil.test)", f"a [link]{BREAK}(https://github.com.evil.test)"),
        ("a [link](https://github.com@evil.test)", f"a [link]{BREAK}(https://github.com@{BREAK}evil.test)"),
        ("see [log in][1]\n[1]: //evil.test", f"see [log in]{BREAK}[1]\n{BREAK}[1]: //evil.test"),
        ("> - [log\n  in]: //evil.test", f"> - {BREAK}[log\n  in]: //evil.test"),
        ("<img src=x> <!doctype> <?php </p>", f"<{BREAK}img src=x> <{BREAK}!doctype> <{BREAK}?php <{BREAK}/p>"),
        ("<details open>", f"<{BREAK}details open>"),
        ("a <!-- for\na program --> b", "a  b"),
        ("<!-- not closed", f"<{BREAK}!-- not closed"),
        ("/lgtm\n  /approve", f"/{BREAK}lgtm\n  /{BREAK}approve"),
        ("```mermaid\nx\n```", "```\nx\n```"),
        ("a\x1b[2J\u202eb\u0000", "a [2J b "),
    ],
)
def test_markdown_of_strangers_acts_on_nobody(written, shown):
    assert neutralized(written) == shown
    assert neutralized(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "## Risks\n\n- **high**: `ops-team` may now read Secrets of `apps`\n",
        "<details><summary>12 objects</summary>\n\n```diff\n- a: 1 < 2\n+ a: 2\n```\n\n</details>\n",
        "Flux [2.9.5](https://github.com/fluxcd/flux2/releases/tag/v2.9.5), see [below](#releases)",
        "```diff\n- spec.containers[manager].args[0]: --log-level=error\n```\n- [x] done\n",
        "| a | b &#124; c |\n| --- | --- |\n| - [x] done | &lt;none&gt; &amp; 5 %|",
    ],
)
def test_a_report_is_left_as_it_is(text):
    assert neutralized(text) == text


@pytest.mark.parametrize("text", ["\n", "<", "<!--", "@", "[", "]", "&", "&a", "```\n", "> ", " /", "\n\n"])
def test_a_report_that_repeats_itself_takes_no_longer_than_others(text):
    """Within seconds for the largest file that is read; minutes if a pattern looks at the rest again and again."""
    began = time.process_time()

    cut(neutralized(text * 100_000), BODY_LIMIT, "cut")

    assert time.process_time() - began < 5


def test_a_long_report_is_cut_between_paragraphs_outside_of_code_tables_and_folded_parts():
    table = "| a |\n| --- |\n" + "| b |\n" * 20
    parts = [
        "risks",
        table.strip(),
        "<details><summary>more</summary>",
        "```diff",
        "+ a",
        "```",
        "</details>",
        "the end of it",
    ]
    text = "\n\n".join(parts)
    allowed = {"\n\n".join([*parts[:count], "cut"]) for count in (0, 1, 2, 7)} | {text}

    found = {cut(text, limit, "cut") for limit in range(3, len(text) + 1)}

    assert found == allowed
    assert all(len(cut(text, limit, "cut")) <= limit for limit in range(3, len(text)))


def test_the_comment_is_never_longer_than_the_host_accepts(host):
    paragraphs = "\n\n".join(f"paragraph {number} @someone" for number in range(10_000))
    reports(host, paragraphs, base=BASE, digests=DIGESTS)

    post()

    [body] = bodies(host)
    assert BODY_LIMIT - 400 < len(body) <= BODY_LIMIT
    assert "longer than a comment may be" in body and DIGEST in body


URN = "urn:pulumi:staging::flux-tenancy::flux-tenancy:index:Tenant$kubernetes:core/v1:Secret::apps/dev-team-git"
SECRET = {"inputs": {"stringData": {"identity": "hunter2"}}}


def step(op="update", urn=URN, **fields):
    return {"op": op, "urn": urn, "oldState": SECRET, "newState": SECRET, **fields}


def printed(*steps, errors=(), **summary):
    found = {"steps": list(steps), "changeSummary": summary, "config": {"flux-tenancy:key": "hunter2"}}
    return json.dumps(found | {"diagnostics": [{"message": text, "severity": "error"} for text in errors]})


def test_steps_are_counted_and_named_without_values_and_a_replacement_says_why():
    replaced = preview_block("staging", printed(step("replace", replaceReasons=["roleRef"]), replace=1))
    assert "- replace `Secret apps/dev-team-git`: replaced because of `roleRef`" in replaced

    output = printed(step(detailedDiff={"data.a": {"kind": "update"}}), step("same"), update=1, same=7)
    text = preview_block("staging", output)

    assert text.startswith("**pulumi preview of staging**: 1 to update.\n\n<details>")
    assert text.count("\n- ") == 1
    assert "- update `Secret apps/dev-team-git`: changes `data.a`" in text
    assert "hunter2" not in text


def test_a_preview_with_an_error_failed():
    text = preview_block("staging", printed(errors=["<b>@octocat</b> refused"]))

    assert text.startswith("**pulumi preview of staging**: failed.")
    assert "\\<b\\>@\u200boctocat\\</b\\> refused" in text


FAILED = " failed; the log of the run says why."


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (printed(step("same"), same=1), ": nothing to change."),
        ("", FAILED),
        ("error: x", FAILED),
        ("[]", FAILED),
        ('{"steps": 1}', FAILED),
        ("[" * 100_000, FAILED),
        ('{"steps": [{"op": 1, "urn": "a"}]}', FAILED),
    ],
    ids=["unchanged", "nothing", "an error", "a list", "no steps", "nested", "no step"],
)
def test_a_preview_without_steps_is_one_line(output, said):
    assert preview_block("staging", output) == f"**pulumi preview of staging**{said}"


def test_text_of_others_has_no_effect():
    text = preview_block("staging", printed(step(urn=f"{URN}`</details>@octocat"), **{"</details>@octocat": 1}))

    assert is_complete(text)
    assert "1 to \\</details\\>@\u200boctocat" in text


def test_a_block_has_a_bound():
    text = preview_block("staging", printed(*(step(urn=f"{URN}{n}") for n in range(3000)), update=3000))

    assert PREVIEW_LIMIT * 0.9 < len(text.encode()) <= PREVIEW_LIMIT
    assert is_complete(text)
    assert "- … and " in text


IN_CLUSTER = "## a\n\n### Preview in the cluster\n\n"


@pytest.mark.parametrize(
    ("report", "blocks", "expected"),
    [
        (
            "## a\n\n### Approve\n\nb\n",
            {"us": "**x**: y.\n\nz", "eu": "w"},
            f"{IN_CLUSTER}w\n\n**x**: y.\n\nz\n\n### Approve\n\nb\n",
        ),
        ("## a\n", {"eu": "b"}, f"{IN_CLUSTER}b\n"),
        ("## a\n", {}, "## a\n"),
        # Cut to the first paragraph.
        ("## a\n", {"eu": f"b.\n\n{'c' * PREVIEW_LIMIT}", "us": "d.\n\ne"}, f"{IN_CLUSTER}b.\n\nd.\n\ne\n"),
    ],
    ids=["before the approval", "at the end", "none", "too long together"],
)
def test_previews_come_before_the_approval_or_at_the_end(report, blocks, expected):
    assert with_previews(report, blocks) == expected
