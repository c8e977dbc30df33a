"""The page of `flux-tenancy tenant list` in a browser: as a file, by keyboard, in light and dark, with hostile text.

Chromium is not part of the lab: `apt-get install chromium`. Without it these tests are skipped; the unit tests of the
page check its markup and its policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flux_tenancy.operations.tenant_overview import Health, QuotaUse, StackOverview, TenantLine
from flux_tenancy.operations.tenant_overview_text import HEADINGS
from flux_tenancy.operations.tenant_page import as_html
from tests.support.browser import CHROMIUM, Tab, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
OVERVIEWS = [
    StackOverview("production", error="Pulumi.production.yaml: cluster.kubeconfig: the cluster does not answer"),
    StackOverview(
        "staging",
        (
            TenantLine(
                "shop",
                Health.READY,
                "main@sha1:1f0c",
                "2026-11-20T08:00:00Z",
                QuotaUse("shop", "pods", "6", "50", 12),
                0,
            ),
            TenantLine(
                "apps",
                Health.FAILED,
                "main@sha1:88ab",
                "2026-11-21T10:31:07Z",
                QuotaUse("apps", "pods", "2", "50", 4),
                11,
                HOSTILE,
            ),
            TenantLine("jobs", Health.SUSPENDED, violations=2),
        ),
    ),
]
QUOTA = HEADINGS.index("fullest quota")


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture
def page(tab: Tab, tmp_path: Path) -> Tab:
    file = tmp_path / "tenants.html"
    file.write_text(as_html(OVERVIEWS, "2026-11-23 08:00 UTC"), encoding="utf-8")
    tab.prefer("light")
    tab.open(file)
    return tab


def column(page: Tab, number: int) -> list[str]:
    found: list[str] = page.value(
        f"[...document.querySelectorAll('tbody tr')].map(row => row.cells[{number}].textContent)"
    )
    return found


def test_the_page_works_as_a_file_and_its_own_policy_blocks_none_of_it(page, tmp_path):
    assert column(page, 1) == ["", "shop", "apps", "jobs"]
    assert page.value("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
    assert page.value("document.querySelectorAll('th button').length") == len(HEADINGS)
    assert page.log == []


def test_text_of_a_tenant_stays_text(page):
    assert column(page, len(HEADINGS) - 1)[2] == HOSTILE
    assert page.value("document.images.length + document.scripts.length") == 1


def test_a_script_that_got_into_the_page_would_not_run(page):
    page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    page.value("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 2'}))")

    assert page.value("window.ran") is None
    page.log.clear()


def test_the_keyboard_sorts_by_each_column(page):
    # The region that scrolls comes first.
    for _ in range(QUOTA + 2):
        page.press("Tab")
    assert page.value("document.activeElement.textContent") == HEADINGS[QUOTA]

    page.press("Enter")
    assert column(page, QUOTA)[-2:] == ["4 % of pods in apps", "12 % of pods in shop"]
    assert page.value("document.querySelector('[aria-sort]').textContent") == HEADINGS[QUOTA]

    page.press("Enter")
    assert column(page, QUOTA)[:2] == ["12 % of pods in shop", "4 % of pods in apps"]
    assert page.value("[...document.querySelectorAll('[aria-sort]')].map(head => head.ariaSort)") == ["descending"]


def test_assistive_technology_finds_a_table_with_its_headings(page):
    roles = page.roles()

    assert roles.count("table") == 1 and roles.count("caption") == 1
    assert (roles.count("columnheader"), roles.count("rowheader")) == (len(HEADINGS), 4)


def test_the_page_is_readable_in_light_and_dark(page, tmp_path):
    seen = set()
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        seen.add(
            (
                page.value("getComputedStyle(document.body).backgroundColor"),
                page.value("getComputedStyle(document.body).color"),
            )
        )
        page.screenshot(tmp_path / f"{scheme}.png")

    assert len(seen) == 2 and all(background != text for background, text in seen)
