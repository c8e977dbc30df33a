"""The comment that a reviewer reads of a pull request; each is a golden file that GitHub shows as it would be."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_project import encrypted, tenant, write_project, write_stack
from sample_release import RELEASE_FILE

from flux_tenancy.components.stack.files.project import read_project_file
from flux_tenancy.components.stack.files.stack_file import read_stack_file
from flux_tenancy.extensions.github_bot.untrusted_markdown import BREAK, neutralized
from flux_tenancy.review.changes.keys import key_changes
from flux_tenancy.review.render.facts import Written, read_written
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.markdown import as_markdown
from flux_tenancy.review.report.model import Report
from tests.support.goldens import GOLDEN, assert_golden

STACKS = ("production", "staging")
# In the golden file, so they are not the releases of the lab.
OLDER, NEWER = "2.9.4", "2.9.5"

Sections = dict[str, Any]


def at_github(name: str, namespace: str, key: str = "first") -> Sections:
    """A tenant whose deploy key and webhook the program registers at GitHub."""
    entry = tenant(name, namespace, key)
    entry["source"] |= {"url": f"ssh://git@github.com/{name}/apps", "github": {"repository": f"{name}/apps"}}
    return entry


DEV, OPS = at_github("dev-team", "apps"), at_github("ops-team", "tools")
TENANTS = {"dev-team": DEV, "ops-team": OPS}
LEAVING = TENANTS | {"ops-team": OPS | {"state": "leaving"}}
ROTATED_IN = {"staging": "second"}
HOST_KEY = "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def sections(tenants: Mapping[str, Sections] = TENANTS, **changed: Any) -> Sections:
    """A stack with these tenants."""
    return {
        "github": {"owners": {name: {"token": encrypted("t")} for name in TENANTS}},
        "git": {"knownHosts": [HOST_KEY]},
        "policies": {"sources": {"allowed": ["ssh://git@github.com/*"]}},
        "tenants": tenants,
    } | changed


def base(_: str) -> Sections:
    return sections()


def in_context(context: str) -> Sections:
    return sections(cluster={"kubeconfig": "kubeconfig", "context": context})


CASES: Mapping[str, tuple[Callable[[str], Sections], Callable[[str], Sections]]] = {
    "onboarding": (base, lambda _: sections(TENANTS | {"shop": at_github("shop", "shop")})),
    "wider-role": (base, lambda _: sections(TENANTS | {"ops-team": OPS | {"role": "admin"}})),
    "flux-upgrade": (lambda _: sections(flux={"version": OLDER}), lambda _: sections(flux={"version": NEWER})),
    "rotated-key": (
        base,
        lambda stack: sections(TENANTS | {"dev-team": at_github("dev-team", "apps", ROTATED_IN.get(stack, "first"))}),
    ),
    "offboarding": (
        lambda _: sections(LEAVING),
        lambda stack: sections(LEAVING if stack == "staging" else {"dev-team": DEV}),
    ),
    "another-cluster": (in_context, lambda _: in_context("production")),
    "missing-tenant": (base, lambda stack: sections(TENANTS if stack == "staging" else {"dev-team": DEV})),
}
"""What a pull request makes of each stack, by the stack's name."""


def written(project: Path, of: Callable[[str], Sections], version: str = "") -> None:
    """Write both stacks, with a release of Flux whose controllers log otherwise for each version."""
    write_project(project)
    for stack in STACKS:
        found = of(stack)
        for name in found["tenants"]:
            (project / "tenants" / f"{name}.yaml").touch()
        write_stack(project, stack, **found)
        if version:
            release = RELEASE_FILE.read_bytes().replace(b"--log-level=info", f"--log-level={version}".encode())
            (project / "install.yaml").write_bytes(release)
            file = project / f"Pulumi.{stack}.yaml"
            content = yaml.safe_load(file.read_text())
            content["config"]["flux-tenancy:flux"]["sha256"] = hashlib.sha256(release).hexdigest()
            file.write_text(yaml.safe_dump(content))


@cache
def sides(of: Callable[[str], Sections], version: str = "") -> Mapping[str, tuple[Side, Written]]:
    """Both stacks, rendered and as they are written; most pull requests have the same base."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        written(project, of, version)
        files = {stack: read_stack_file(stack, read_project_file(project)) for stack in STACKS}
        return {
            stack: (Side(file, render_stack(project, stack)), read_written(stack, project))
            for stack, file in files.items()
        }


def comment(case: str) -> str:
    """The comment of a pull request; digests of renders change with the program, so they are left out."""
    of_base, of_head = CASES[case]
    bases, heads = sides(of_base, version="error" if case == "flux-upgrade" else ""), sides(of_head)
    reports = []
    for stack in STACKS:
        (before, earlier), (after, present) = bases[stack], heads[stack]
        reports.append(stack_report(stack, before, after, keys=key_changes(earlier, present)))
    text = as_markdown(Report("main", "0123456789abcdef", tuple(reports)))
    return re.sub("sha256:[0-9a-f]{64}", "sha256:…", text)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.golden
def test_the_comment_is_as_in_the_golden_file(case):
    """After a change of words: `make generate`, and read the difference."""
    assert_golden(f"review/{case}.md", comment(case))


@pytest.mark.parametrize("case", CASES)
def test_posting_the_comment_leaves_what_a_reader_sees_and_copies(case):
    """What is posted for a pull request is made harmless first, whoever has written it."""
    text = (GOLDEN / "review" / f"{case}.md").read_text(encoding="utf-8")
    posted = neutralized(text)

    # URLs in sentences are broken by the report itself.
    assert posted.replace(BREAK, "") == text.replace(BREAK, "")
    copied = re.findall("(?<!`)`[^`\n]+`(?!`)|^flux-tenancy up .*$", text, re.MULTILINE)
    assert [each for each in copied if each not in posted] == []
