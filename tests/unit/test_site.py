"""The documentation as a site: it builds strictly without a broken link, and its home page has its groups."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
DOCS = PROJECT / "docs"


class Page(HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src") and tag in ("a", "img"):
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(PROJECT / "mkdocs.yml", folder)
    shutil.copytree(DOCS, folder / "docs")
    built = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict"], cwd=folder, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> Mapping[Path, Page]:
    # The page for a missing page has the addresses that it would have at the root of a host.
    return {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}


def test_no_link_is_broken(pages):
    broken = []
    for file, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.is_file() or (anchor and anchor not in pages[target].anchors):
                broken.append(f"{file.name}: {link}")

    assert broken == []


def named(navigation: Any) -> Iterator[str]:
    if isinstance(navigation, str):
        yield navigation
    else:
        for each in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from named(each)


def test_each_page_is_once_in_the_navigation():
    """To fix a failure, add the page to the group of its readers in `mkdocs.yml`."""
    text = (PROJECT / "mkdocs.yml").read_text("utf-8")
    navigation = yaml.safe_load(text[text.index("\nnav:") :])["nav"]

    assert sorted(named(navigation)) == sorted(file.name for file in DOCS.glob("*.md"))
    assert len(navigation) <= 7


def test_the_home_page_has_the_groups_and_the_titles_of_the_site():
    text = (PROJECT / "mkdocs.yml").read_text("utf-8")
    groups = {
        name: pages for each in yaml.safe_load(text[text.index("\nnav:") :])["nav"] for name, pages in each.items()
    }
    titles = {file.name: re.search(r"^# (.*)$", file.read_text("utf-8"), re.MULTILINE) for file in DOCS.glob("*.md")}
    home = (DOCS / "index.md").read_text("utf-8")
    shown = {
        section.partition("\n")[0]: [(page, title) for title, page in re.findall(r"\[([^\]]*)\]\((\S*\.md)\)", section)]
        for section in home.partition("\n## Comparison")[0].split("\n## ")[1:]
    }

    assert shown == {
        group: [(page, title[1]) for page in pages if page != "index.md" and (title := titles[page])]
        for group, pages in groups.items()
    }


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_what_belongs_to_a_list_is_indented_as_the_site_needs_it(page):
    """By 4 spaces: GitHub takes fewer, but the site ends the list there, and counts the next step as the first."""
    lines = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL).splitlines()
    belongs = re.compile(r" {1,3}(```|- |\d+\. |\|)")

    assert [line for line in lines if belongs.match(line)] == []
