"""Entries of allow-lists as types of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from flux_tenancy.components.allowlists.host_patterns import read_host_pattern
from flux_tenancy.components.allowlists.image_patterns import read_image_pattern
from flux_tenancy.components.allowlists.source_patterns import read_pattern
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.types import matching


def _image_pattern(text: str) -> str:
    read_image_pattern(text)
    return text


def _source_pattern(text: str) -> str:
    read_pattern(text)
    return text


SourcePatternText = Annotated[str, AfterValidator(_source_pattern)]
HostPatternText = Annotated[str, AfterValidator(read_host_pattern)]
VerifiedKind = Literal["GitRepository", "OCIRepository", "HelmChart"]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]
ImagePatternText = Annotated[str, AfterValidator(_image_pattern)]
IngressHost = Annotated[
    str,
    *matching(
        r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
        Message(
            "FT-CFG-153",
            "is not a lowercase host name",
            "write it like shop.example.com, or *.example.com for all names below",
        ),
    ),
]
