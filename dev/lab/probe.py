"""A request to a server of the lab that may not be ready."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx

from dev.lab.certificates import Pair

_TIMEOUT = 2.0


def probe(
    url: str, authority: Path | None = None, client: Pair | None = None, new: dict[str, Any] | None = None
) -> httpx.Response | None:
    """A successful response, or None if there is no response or another one.

    Args:
        url: URL of the object to read.
        authority: certificate of the authority that signed the server's.
        client: certificate and key of the user.
        new: an object that replaces the one at ``url``.
    """
    try:
        context = ssl.create_default_context(cafile=authority)
        if client:
            context.load_cert_chain(client.certificate, client.key)
        # The user's proxy settings are not for loopback.
        with httpx.Client(verify=context, trust_env=False, timeout=_TIMEOUT) as http:
            response = http.request("PUT" if new else "GET", url, json=new)
    except (httpx.HTTPError, OSError):
        return None
    return response if response.is_success else None
