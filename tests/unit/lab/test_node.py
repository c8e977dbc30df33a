"""What the conditions of a node say."""

from dev.lab.node import is_ready, unlimited_because


def node(*conditions):
    fields = ("type", "status", "message")
    return {"status": {"conditions": [dict(zip(fields, each, strict=True)) for each in conditions]}}


def test_a_node_that_has_not_reported_yet_is_not_ready_and_no_reason_is_known():
    assert not is_ready({"status": {}})
    assert unlimited_because({"status": {}}) is None


def test_only_the_condition_of_its_type_counts():
    ready, limited = ("Ready", "True", "runs"), ("LimitsEnforced", "True", "in groups")
    assert is_ready(node(limited, ready))
    assert not is_ready(node(limited, ("Ready", "Unknown", "runs")))
    assert unlimited_because(node(ready, limited)) is None
    assert unlimited_because(node(ready, ("LimitsEnforced", "False", "read-only"))) == "read-only"
