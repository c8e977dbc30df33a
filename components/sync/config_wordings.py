"""What is said about decryption, in `sync.decryption` of the platform and of tenants."""

from __future__ import annotations

from components.config.wordings import Wording

NO_DECRYPTION_KEY = Wording("FT-CFG-200", "contains no key", "create one with `make sops-key`, or remove the section")
FOREIGN_PUBLIC_KEYS = Wording(
    "FT-CFG-201",
    "contains {public}, for which there is no private key here",
    "set it to {expected}",
)
MISSING_PUBLIC_KEYS = Wording(
    "FT-CFG-202", "does not list the public keys in the order of the private ones", "set it to {expected}"
)
PROVIDER_WITHOUT_SETTING = Wording("FT-CFG-203", "is not a setting of {provider}", "remove it")
PROVIDER_NEEDS_SETTING = Wording("FT-CFG-204", "is required for {provider} and missing")
PROVIDER_SETTING_REFUSED = Wording("FT-CFG-205", "is rejected by Flux", "it must match {pattern}")
