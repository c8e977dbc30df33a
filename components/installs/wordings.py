"""What is said about a product that is installed by its chart; each product has its own codes."""

from __future__ import annotations

from dataclasses import dataclass

from components.config.messages import Wording


@dataclass(frozen=True)
class ReleaseWordings:
    """The sentences about one product's chart and its release.

    Attributes:
        not_the_chart: the archive is not the product's chart.
        other_version: the chart installs another version.
        not_written: the chart cannot be written into the project.
        half_installed: the stack no longer has the product, and an interrupted update has left a part of it.
        upgraded: an interrupted update is finished by an upgrade.
        reinstalled: an interrupted update is finished by an installation.
    """

    not_the_chart: Wording
    other_version: Wording
    not_written: Wording
    half_installed: Wording
    upgraded: Wording
    reinstalled: Wording


def release_wordings(area: str, product: str, section: str) -> ReleaseWordings:
    """The sentences with the codes `FT-<area>-001` to `006`.

    Args:
        area: area of the codes, e.g. `KYV`.
        product: name of the product, e.g. `Kyverno`.
        section: its section of the configuration.
    """
    return ReleaseWordings(
        not_the_chart=Wording(f"FT-{area}-001", f"{{source}} is not an archive of {product}'s Helm chart"),
        other_version=Wording(
            f"FT-{area}-002", f"is {{version}}, but {{source}} installs {product} {{installed}}", "correct one of them"
        ),
        not_written=Wording(
            f"FT-{area}-003",
            "cannot write the chart to {folder}/ of the project, where Pulumi reads it",
            "make the folder writable",
        ),
        half_installed=Wording(
            f"FT-{area}-004",
            f"is not set, but an interrupted update has left {product} half installed",
            f"run `pulumi up` once with {section} to finish the installation, then remove it from the stack",
        ),
        upgraded=Wording(
            f"FT-{area}-005",
            f"an interrupted update has left {product}'s release {{status}}; the update finishes it",
        ),
        reinstalled=Wording(
            f"FT-{area}-006",
            f"an interrupted update has left {product}'s release {{status}}; the update installs it again over what is "
            "there",
        ),
    )
