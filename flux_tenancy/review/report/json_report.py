"""The report for programs."""

from __future__ import annotations

import json
from typing import Any

from flux_tenancy.review.changes.fields import is_noise, shown_manifest, shown_value
from flux_tenancy.review.changes.keys import KeyChange, ReleaseChange
from flux_tenancy.review.changes.objects import ABSENT, Action, FieldChange, ObjectChange, OwnerDeletion, is_of_project
from flux_tenancy.review.changes.risks import immutable_fields, matters_of_key, matters_of_kind
from flux_tenancy.review.report.model import Report, StackReport
from flux_tenancy.review.rules.table import record
from flux_tenancy.review.words import Statement


def as_json(report: Report) -> str:
    """The whole report, by stack; a value that an object does not have is left out."""
    content = {
        "base": report.base,
        "mergeBase": report.commit,
        "headline": report.headline,
        "facts": [_values("fact", each) for each in report.facts],
        "stacks": [_stack(each) for each in report.stacks],
    }
    return json.dumps(content, indent=2)


def _stack(stack: StackReport) -> dict[str, Any]:
    return {
        "stack": stack.stack,
        "digest": stack.digest,
        "new": stack.is_new,
        "gone": stack.is_gone,
        "note": stack.note,
        "warnings": stack.warnings,
        "onboarded": stack.onboarded,
        "offboarded": stack.offboarded,
        "absent": stack.absent,
        "statements": [_statement(each) for each in stack.statements],
        "findings": [record(each) for each in stack.findings],
        "releases": [_release(each) for each in stack.releases],
        "secrets": [{"owner": each.owner, "key": each.key, "action": each.action} for each in stack.secrets],
        "deletions": [_deletion(each) for each in stack.deletions],
        "keys": [_key(each) for each in stack.keys],
        "facts": [_values("fact", each) for each in stack.facts if not is_of_project(each)],
        "changes": [_change(each) for each in stack.changes],
    }


def _statement(statement: Statement) -> dict[str, Any]:
    return {
        "owner": statement.owner,
        "text": statement.text,
        "risk": statement.risk,
        "matters": statement.matters,
    }


def _release(change: ReleaseChange) -> dict[str, Any]:
    releases = {"before": change.before, "after": change.after}
    pinned = {key: each and {"version": each.version, "sha256": each.sha256} for key, each in releases.items()}
    return {"release": change.section, **pinned, "changelog": change.changelog}


def _deletion(deletion: OwnerDeletion) -> dict[str, Any]:
    return {
        "owner": deletion.owner,
        "objects": [str(each.path) for each in deletion.objects],
        "consequences": list(deletion.consequences()),
        "needsAcknowledgement": deletion.needs_acknowledgement,
        "acknowledged": deletion.acknowledged,
        "entry": deletion.token,
    }


def _key(change: KeyChange) -> dict[str, Any]:
    matters = matters_of_key(change.path)
    return {"file": change.file, "owner": change.owner, "matters": matters} | _values("key", change.field)


def _change(change: ObjectChange) -> dict[str, Any]:
    found: dict[str, Any] = {
        "action": change.action,
        "owner": change.object.owner,
        "matters": matters_of_kind(change.object.kind),
        "object": str(change.object.path),
    }
    if change.action is Action.ADDED:
        found["manifest"] = shown_manifest(change.object)
    found["replaced"] = list(immutable_fields(change))
    return found | {"noise": is_noise(change), "fields": [_field(change, each) for each in change.fields]}


def _field(change: ObjectChange, field: FieldChange) -> dict[str, Any]:
    before, after = (shown_value(change.object, field, each) for each in (field.before, field.after))
    return _values("field", FieldChange(field.path, before, after))


def _values(noun: str, field: FieldChange) -> dict[str, Any]:
    values = {"before": field.before, "after": field.after}
    return {noun: field.name} | {key: each for key, each in values.items() if each is not ABSENT}
