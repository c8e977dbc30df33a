"""What is said about entries of allow-lists."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_SOURCE_PATTERN = Wording(
    "FT-CFG-150",
    "is not a URL, nor one that ends in /* for everything at or below it",
    "write it like https://git.example.com/team/*, ssh://git@git.example.com/team/apps "
    "or oci://registry.example.com/team/*",
)
NOT_AN_IMAGE_PATTERN = Wording(
    "FT-CFG-151",
    "is not an image repository with its registry",
    "write it like registry.example.com/org/* or docker.io/library/nginx",
)
NOT_A_HOST_PATTERN = Wording(
    "FT-CFG-152",
    "is not a lowercase host without scheme and path",
    "write it like hooks.slack.com, alerts.example.com:8443 or *.example.com",
)
NOT_AN_INGRESS_HOST = Wording(
    "FT-CFG-153",
    "is not a lowercase host name",
    "write it like shop.example.com, or *.example.com for all names below",
)
