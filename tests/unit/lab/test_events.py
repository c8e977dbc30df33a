"""The right to write events is removed from a role of the API."""

from lab.events import without_events

READ = {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list", "watch"]}
WRITE_EVENTS = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]}
ROLE = {
    "metadata": {"name": "system:controller:endpoint-controller", "annotations": {"a": "b"}, "resourceVersion": "7"},
    "rules": [READ, WRITE_EVENTS],
}


def test_only_rights_to_events_are_removed_and_the_api_server_does_not_restore_them():
    changed = without_events(ROLE)

    assert changed == {
        "metadata": {
            "name": "system:controller:endpoint-controller",
            "annotations": {"a": "b", "rbac.authorization.kubernetes.io/autoupdate": "false"},
            "resourceVersion": "7",
        },
        "rules": [READ],
    }


def test_a_role_without_rights_to_events_is_not_changed():
    assert without_events({**ROLE, "rules": [READ]}) is None
    assert without_events({}) is None
