"""An address of this machine that is not a loopback address."""

from __future__ import annotations

import socket

# For documentation, so nothing is there; a datagram socket sends nothing when it is connected.
_ELSEWHERE = ("192.0.2.1", 9)


def own_address() -> str | None:
    """The address from which this machine would connect to others; None without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return None if address.startswith("127.") else address
