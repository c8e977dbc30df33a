"""README, CONTRIBUTING and docs/: what they link to and name is there, and the architecture is that of the code."""

from __future__ import annotations

import ast
import html
import re
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted(PROJECT.glob("docs/*.md")),
    *sorted(PROJECT.glob("dev/docs/*.md")),
]
FOLDERS = "command|components|docs|flux_tenancy|dev|isolation|operations|review|schemas|tests"
PROGRAM = ("flux_tenancy", "dev")
# Written while the program runs, and not in Git.
WRITTEN_LATER = ("dev/bench/results",)


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def links(page: Path) -> list[str]:
    """The links of a page to files of the repository."""
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in link]


def linked_file(page: Path, link: str) -> Path:
    file = link.partition("#")[0]
    return (page.parent / file).resolve() if file else page


def is_broken(page: Path, link: str) -> bool:
    target, anchor = linked_file(page, link), link.partition("#")[2]
    return not target.exists() or (anchor != "" and anchor not in anchors(target))


def exists(name: str) -> bool:
    """Whether a file is in the repository, or in the package as dev/docs/architecture.md names it."""
    return (PROJECT / name).exists() or (PROJECT / "flux_tenancy" / name).exists()


def missing_files(text: str) -> set[str]:
    named = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]*[\w/])`", text))
    return {name for name in named if not name.startswith(WRITTEN_LATER) and not exists(name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading_and_every_named_file_exists(page: Path) -> None:
    assert [link for link in links(page) if is_broken(page, link)] == []
    assert missing_files(prose(page)) == set()


def test_every_page_is_linked_from_another_one() -> None:
    linked = {target for page in PAGES for link in links(page) if (target := linked_file(page, link)) != page}
    assert [page.name for page in PAGES if page not in linked | {PROJECT / "README.md"}] == []


def test_the_recording_ends_as_the_tour_does() -> None:
    """Make it again by `python -m dev.lab.recording` whenever the number of attempts changes."""
    found = re.search(r"^\d+ attempts: .*$", (PROJECT / "docs" / "tour.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    picture = (PROJECT / "docs" / "images" / "tour.svg").read_text(encoding="utf-8")
    shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", picture)).split())
    assert found[0] in shown


def test_every_page_and_heading_that_the_program_names_exists() -> None:
    sources = [PROJECT / "Makefile", *(each for name in PROGRAM for each in (PROJECT / name).rglob("*.py"))]
    # A message may be several strings in a row.
    texts = (re.sub(r'"\n\s+f?"', "", source.read_text("utf-8")) for source in sources)
    named = {link for text in texts for link in re.findall(r"(?<![\w/.])docs/[\w-]+\.md(?:#[\w-]+)?", text)}
    assert any("#" in link for link in named)
    assert {link for link in named if is_broken(PROJECT / "README.md", link)} == set()


def test_the_architecture_page_has_every_package_in_its_order_and_in_its_own_words() -> None:
    """To fix a failure, copy the expected rows into dev/docs/architecture.md."""
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rows = []
    layers = [
        (folder.replace(".", "/"), package)
        for each in contracts
        for folder in each.get("containers", ())
        for layer in each["layers"]
        for package in layer.split(" | ")
    ]
    for folder, package in layers:
        if not (PROJECT / folder / package).is_dir():
            continue
        source = (PROJECT / folder / package / "__init__.py").read_text(encoding="utf-8")
        words = [" ".join(part.split()) for part in (ast.get_docstring(ast.parse(source)) or "").split("\n\n")]
        rows.append(f"| `{package}` | {' | '.join(words)} |")
    page = (PROJECT / "dev" / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if re.match(r"\| `[a-z]+` \|", line)] == rows
