"""The page of `flux-tenancy tenant page` in a browser: as a file, at 1280 pixels, in light and dark, with hostile text.

Chromium is not part of the lab: `apt-get install chromium`. Without it these tests are skipped. The pictures in
docs/images are screenshots of them: `PICTURES=docs/images pytest tests/engine/test_tenants_page.py`.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.policies.policy import THREATS
from flux_tenancy.extensions.pages import content as page_content
from tests.support.browser import CHROMIUM, Tab, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")

SAMPLE = yaml.safe_load(Path(__file__).with_name("tenants_page.yaml").read_text(encoding="utf-8"))
HOSTILE = f"<img src=x onerror=alert(1)></script><script>alert(2)</script> `<b>` \u202egnp {'long-' * 3 + 'l' * 200}"
PAGES = ("#/", "#/tenant/staging/shop", "#/tenant/staging/data", "#/isolation/shop")


def content() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The stacks and the report of the sample, which names only what differs from tenant to tenant."""
    stacks, isolation = copy.deepcopy(SAMPLE["stacks"]), copy.deepcopy(SAMPLE["isolation"])
    for stack in stacks:
        for tenant in stack.get("tenants", ()):
            tenant.update({**SAMPLE["tenant"], "stack": stack["stack"], **tenant})
    for report in isolation["reports"]:
        report.update({**SAMPLE["report"], **report})
    return stacks, {**isolation, "threats": {number: each.attempt for number, each in THREATS.items()}}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


def opened(tab: Tab, folder: Path, stacks: list[dict[str, Any]], isolation: dict[str, Any] | None) -> Tab:
    file = folder / "tenants.html"
    file.write_text(page_content.as_html(stacks, isolation), encoding="utf-8")
    tab.log.clear()
    tab.open(file)
    return tab


@pytest.fixture
def page(tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tab]:
    monkeypatch.setattr(page_content, "now", lambda: datetime(2026, 11, 28, 8, tzinfo=UTC))
    tab.prefer("light")
    yield opened(tab, tmp_path, *content())
    # The browser reports here what the page's policy has blocked, too.
    assert tab.log == []


def texts(page: Tab, selector: str) -> list[str]:
    """The visible text of each element."""
    shown = f"[...document.querySelectorAll({selector!r})].filter((each) => each.checkVisibility())"
    found: list[str] = page.value(f"{shown}.map((each) => each.textContent.trim())")
    return found


def click(page: Tab, selector: str, text: str = "") -> None:
    """Click the first element with a text."""
    all_of = f"[...document.querySelectorAll({selector!r})]"
    page.value(f"{all_of}.find((each) => each.textContent.trim().includes({text!r})).click()")


def enter(page: Tab, selector: str, value: str) -> None:
    """Set an input, as a user does."""
    changed = f"Object.assign(document.querySelector({selector!r}), {{ value: {value!r} }})"
    page.value(f"{changed}.dispatchEvent(new Event('input', {{ bubbles: true }}))")


NAMES = "tbody th a"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_scrolls_sideways_at_1280_pixels_and_both_schemes_can_be_read(page, scheme):
    page.prefer(scheme)
    for fragment in PAGES:
        page.go(fragment)
        wide, room = page.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= room <= 1280, fragment
        assert len(texts(page, "main")[0]) > 200, fragment
    colours = page.value("['color', 'backgroundColor'].map((each) => getComputedStyle(document.body)[each])")
    light = [sum(map(int, re.findall(r"\d+", each)[:3])) for each in colours]
    assert (light[0] < 200 and light[1] > 700) if scheme == "light" else (light[0] > 600 and light[1] < 100)


def test_what_needs_attention_comes_first_and_each_heading_sorts_both_ways(page):
    assert texts(page, NAMES) == ["shop", "old", "media", "payments", "search", "apps", "data"]
    assert texts(page, ".note")[0].startswith("production Pulumi.production.yaml")
    assert texts(page, "td.clamp")[0].startswith("Refused by service-exposure: Service/shop/web")

    # Unknown budgets are last, in the order of before.
    ends = {
        "Tenant": ("apps", "shop"),
        "Budget": ("shop", "search"),
        "Fullest quota": ("old", "media"),
        "Violations": ("old", "shop"),
    }
    for heading, (first, last) in ends.items():
        click(page, "th button", heading)
        assert texts(page, NAMES)[0] == first, heading
        click(page, "th button", heading)
        assert texts(page, NAMES)[0] == last, heading
    assert texts(page, "[aria-sort]") == ["Violations"]


def test_filters_of_state_stack_and_text_work_together(page):
    click(page, "button.chip", "ready")
    assert texts(page, NAMES) == ["apps", "data"]
    enter(page, "input", "DAT")
    assert texts(page, NAMES) == ["data"]
    click(page, "button.chip", "all")
    enter(page, "input", "")
    enter(page, "select", "production")
    assert texts(page, NAMES) == [] and texts(page, "#none") == ["No tenant matches."]


def test_a_tenant_has_its_way_its_quotas_refusals_people_and_next_step(page):
    click(page, NAMES, "shop")
    page.go("#/tenant/staging/shop")

    assert texts(page, ".way strong") == ["Fetched", "Not applied"]
    assert texts(page, ".way .code") == ["main@sha1:88ab01f", "main@sha1:1f0c2d9"]
    assert texts(page, ".way small[title]")[0] == "2026-11-28 07:41:02 UTC"
    assert any(text.startswith("Refused by service-exposure") for text in texts(page, ".way p"))
    assert any("is left: -37 %" in text for text in texts(page, "section:first-of-type > p"))
    assert [text.split("shop")[0] for text in texts(page, ".plain th")][:2] == ["requests.memory", "pods"]
    assert "services" not in "".join(texts(page, ".plain tr"))
    click(page, "button.link", "more")
    assert "services" in "".join(texts(page, ".plain tr"))
    assert any("spec.type NodePort is not allowed" in text for text in texts(page, "section tbody tr"))
    assert any("shop-developers" in text for text in texts(page, "li"))
    assert page.value("document.title") == "shop · flux-tenancy"


def test_a_freeze_and_a_tenant_without_anything_are_shown(page):
    page.go("#/tenant/staging/payments")
    assert "until 2026-12-27T06:00:00Z: a sale; a change waits" in texts(page, ".note")[0]
    page.go("#/tenant/staging/old")
    said = " ".join(texts(page, "main"))
    assert "The cluster has no source and no sync of this tenant." in said and "No limits." in said


def test_isolation_has_what_is_open_first_and_threats_by_name(page):
    page.go("#/isolation/shop")

    assert texts(page, "section:first-of-type .state") == ["passed", "differs", "unproven"]
    names = texts(page, ".threat > summary > :first-child")
    assert "A Kustomization or HelmRelease takes its source or chart from another namespace" in names
    assert not texts(page, ".threat td")
    assert texts(page, ".layer[data-state=unproven]") == ["unproven 1"]
    click(page, "button.chip", "pod-security")
    assert texts(page, ".threat:has([data-row]) td:nth-child(2)") == ["a privileged pod"]
    click(page, "button.chip", "unproven")
    assert texts(page, "#none") == ["No attempt matches."]


def test_text_of_a_tenant_stays_text_everywhere(tab, tmp_path):
    stacks, isolation = content()
    [staging] = [each for each in stacks if each["stack"] == "staging"]
    shop = staging["tenants"][0]
    shop |= {"message": HOSTILE, "next": [HOSTILE], "revision": HOSTILE, "namespaces": [HOSTILE], "lane": HOSTILE}
    shop["people"][0]["name"] = shop["refused"][0]["message"] = shop["syncs"][0]["message"] = HOSTILE
    for report in isolation["reports"]:
        report["context"] = report["attempts"][0]["message"] = report["attempts"][0]["name"] = HOSTILE
    page = opened(tab, tmp_path, stacks, isolation)

    for fragment in PAGES:
        page.go(fragment)
        assert page.value("document.documentElement.scrollWidth <= innerWidth"), fragment
        assert page.value("document.images.length + document.scripts.length") == 2, fragment
        assert page.value("document.querySelectorAll('b > b, main script').length") == 0
        if "data" not in fragment:
            assert "<img src=x onerror=alert(1)>" in " ".join(texts(page, "main")), fragment
        assert "\u202e" not in page.value("document.body.textContent")
    assert page.log == []


def test_a_script_that_got_into_the_page_would_not_run(tab, tmp_path):
    page = opened(tab, tmp_path, *content())
    page.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    page.value("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 2'}))")

    assert page.value("window.ran") is None and page.log != []


def test_a_page_without_prometheus_has_no_budget(tab, tmp_path):
    stacks, isolation = content()
    for each in (each for stack in stacks for each in stack.get("tenants", ())):
        each["budget"] = None
    page = opened(tab, tmp_path, stacks, isolation)

    assert "Budget" not in texts(page, "th")
    page.go("#/tenant/staging/shop")
    assert "budget" not in " ".join(texts(page, "main")).lower() and page.log == []


def test_a_page_without_a_report_has_no_isolation(tab, tmp_path):
    page = opened(tab, tmp_path, content()[0], None)

    assert texts(page, "nav a") == ["Tenants"] and "Isolation" not in texts(page, "th")
    page.go("#/isolation")
    assert "add --isolation" in texts(page, "main")[0] and page.log == []


def test_a_page_of_a_cluster_without_stacks_has_its_isolation_alone(tab, tmp_path):
    page = opened(tab, tmp_path, [], content()[1])

    assert (texts(page, "nav a")[0], texts(page, "h1")) == ("Isolation", ["Isolation"]) and page.log == []


@pytest.mark.skipif("PICTURES" not in os.environ, reason="PICTURES is not set")
def test_pictures(page):
    for fragment, name in zip(PAGES, ("overview", "tenant", "", "isolation"), strict=True):
        if name:
            page.go(fragment)
            page.screenshot(Path(os.environ["PICTURES"]) / f"page-{name}.png")
