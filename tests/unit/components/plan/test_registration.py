"""What is planned becomes resources."""

import pulumi
import pytest

from flux_tenancy.components.config.errors import BrokenInvariantError
from flux_tenancy.components.plan import Planned, Stage, register_planned
from flux_tenancy.components.vocabulary.manifests import Manifest

NAMED: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "apps"}}


def test_of_two_objects_with_one_name_none_is_registered():
    planned = [Planned(Stage.CONTENT, NAMED)] * 2

    with pytest.raises(BrokenInvariantError, match="two objects have one name"):
        register_planned(planned, lambda _: pulumi.ResourceOptions())
