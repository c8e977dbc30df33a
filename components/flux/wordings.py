"""What the flux package says of a release."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_YAML = Wording("FT-FLX-001", "{source} is not valid YAML: {reason}")
NOT_AN_INSTALL_MANIFEST = Wording(
    "FT-FLX-002",
    "{source} is not an install manifest: it holds documents that are not Kubernetes objects",
    "use the release's install.yaml",
)
MISSING_COMPONENTS = Wording(
    "FT-FLX-003", "{source} has no {missing}; it has {present}", "remove the components that it lacks"
)
