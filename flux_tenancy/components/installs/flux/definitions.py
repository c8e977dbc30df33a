"""What Flux's objects may say, by the CustomResourceDefinitions of the pinned release.

Structure, types, enumerations and patterns are checked here. The rules in CEL (`x-kubernetes-validations`) are checked
by the API server, in the dry run of a preview.
Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from flux_tenancy.components.config.errors import KeyPath
from flux_tenancy.components.config.messages import Message

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

    from flux_tenancy.components.vocabulary.manifests import Manifest

_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}
_FOUND = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a mapping"}


class Definitions:
    """The definitions of a release.

    Args:
        release: the objects of the release.
        version: of Flux, for messages.
    """

    def __init__(self, release: Iterable[Manifest], version: str) -> None:
        self._definitions = [each for each in release if each["kind"] == "CustomResourceDefinition"]
        self._version = version

    @cached_property
    def _validators(self) -> Mapping[tuple[str, str], Draft202012Validator]:
        # Only stacks that are checked read it.
        from jsonschema import Draft202012Validator

        return {
            (f"{each['spec']['group']}/{version['name']}", each["spec"]["names"]["kind"]): Draft202012Validator(
                _closed(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
            )
            for each in self._definitions
            for version in each["spec"].get("versions", ())
        }

    def problems(self, manifest: Manifest, keys: Iterable[str] = ()) -> Iterator[tuple[KeyPath, Message]]:
        """Where an object's `spec` is not valid, by paths in it; nothing where the release has no such kind.

        A message repeats no value: it may be a secret.

        Args:
            manifest: the object.
            keys: what the configuration calls other fields, for suggestions.
        """
        validator = self._validators.get((manifest["apiVersion"], manifest["kind"]))
        for error in validator.iter_errors(manifest["spec"]) if validator is not None else ():
            path: KeyPath = tuple(error.absolute_path)
            if error.validator == "additionalProperties":
                fields = cast("dict[str, Any]", error.schema)["properties"]
                for key in error.instance.keys() - fields.keys():
                    yield (*path, key), self._unknown(key, [*fields, *(keys if not path else ())], manifest["kind"])
            elif error.validator == "required":
                for key in cast("list[str]", error.validator_value):
                    if key not in error.instance:
                        yield (*path, key), Message("FT-FLX-031", f"is required by Flux {self._version} and missing")
            else:
                yield path, self._invalid(error)

    def _unknown(self, key: str, known: Iterable[str], kind: str) -> Message:
        fields = sorted(known)
        close = get_close_matches(str(key), fields, n=1, cutoff=0.7)
        remedy = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(fields)}"
        return Message("FT-FLX-030", f"is not a field of a {kind} in Flux {self._version}", f"{remedy}")

    def _invalid(self, error: ValidationError) -> Message:
        rule, wanted = str(error.validator), error.validator_value
        if rule == "type":
            found = _FOUND.get(type(error.instance), "nothing")
            return Message("FT-FLX-032", f"must be {_TYPES.get(str(wanted), wanted)}, got {found}")
        said = {"enum": "one of", "pattern": "of the pattern"}.get(rule, f"of the {rule}")
        listed = ", ".join(map(str, wanted)) if isinstance(wanted, list) else wanted
        return Message("FT-FLX-033", f"must be {said} {listed}", f"Flux {self._version} accepts nothing else")


def _closed(schema: Any) -> Any:
    """The same schema, which refuses fields that it does not know: the API server drops them without a word."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    found = {key: _closed(value) for key, value in schema.items()}
    closes = isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields")
    return {"additionalProperties": False} | found if closes else found
