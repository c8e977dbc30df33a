"""Quantities of Kubernetes, such as `500m` and `2Gi`.

The client's own reader accepts `1K`, which an API server refuses, and takes half a second to import.

Source: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from decimal import Decimal

DISK = "ephemeral-storage"
"""The resource name of a node's disk: what containers write to their file systems, volumes `emptyDir` and logs."""
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]+))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(value: object) -> Decimal:
    """The number that a quantity stands for.

    Args:
        value: the quantity, as text or as a number.

    Raises:
        ValueError: it is not a quantity.
    """
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value} is not a quantity")
    number, suffix, exponent = found.groups()
    if suffix in _BINARY:
        return Decimal(number) * Decimal(2) ** _BINARY[suffix]
    return Decimal(number).scaleb(int(exponent or _DECIMAL.get(suffix, 0)))
