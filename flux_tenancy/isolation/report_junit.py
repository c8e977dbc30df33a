"""The report as JUnit XML for CI systems.

Source: https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from flux_tenancy.isolation.model import Report, Verdict
from flux_tenancy.isolation.report_table import AS_INTENDED, place, refused_by, title

_SKIPPED = (Verdict.NOT_APPLICABLE, Verdict.UNPROVEN)


def as_junit(reports: Sequence[Report]) -> str:
    """All reports of a run; an attempt that passes, a refused control, and what is not intended, is a failure."""
    root = ElementTree.Element("testsuites", name="isolation")
    for report in reports:
        suite = ElementTree.SubElement(root, "testsuite", name=title(report), timestamp=report.made_at)
        for result in report.attempts:
            case = _case(
                suite, f"isolation.threat-{result.attempt.threat}", f"{result.attempt.id}: {result.attempt.name}"
            )
            if result.verdict is Verdict.PASSED:
                ElementTree.SubElement(case, "failure", message=f"passed: {result.message}", type="passed")
            elif result.verdict in _SKIPPED:
                ElementTree.SubElement(case, "skipped", message=f"{result.verdict}: {result.message}")
            else:
                ElementTree.SubElement(case, "system-out").text = f"{refused_by(result)}: {result.message}"
        for control in report.controls:
            case = _case(suite, "isolation.controls", f"{control.control.id}: {control.control.name}")
            if control.verdict is Verdict.REFUSED:
                ElementTree.SubElement(case, "failure", message=f"refused: {control.message}", type="refused")
            elif control.verdict in _SKIPPED:
                ElementTree.SubElement(case, "skipped", message=f"{control.verdict}: {control.message}")
        for number, each in enumerate(report.inventory or (), 1):
            # An object may be wrong in several ways.
            case = _case(suite, "isolation.inventory", f"{each.code}-{number}: {place(each)}")
            said = f"{each.what}: {each.found}; intended: {each.intended}; {each.remedy}"
            ElementTree.SubElement(case, "failure", message=said, type=each.code)
        if report.inventory == ():
            _case(suite, "isolation.inventory", AS_INTENDED)
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
        suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
        suite.set("errors", "0")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def _case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=classname, name=name)
