"""Whether Git hosts have the host keys that the stack declares for them.

Flux refuses a host whose key differs, so one wrong line takes the source from every tenant of that host. `ssh-keyscan`
asks for the keys without a login. Where it is missing, or the host cannot be reached from here, nothing is compared,
and the first fetch shows it.

Source: ssh-keyscan(1); checkAddr and hostKeyAlgorithms in github.com/fluxcd/pkg/ssh/knownhosts
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.git.github import answers
from flux_tenancy.components.keys.known_hosts import HostKey, KnownHostError, address_of, keys_for, parse
from flux_tenancy.components.keys.ssh_keys import fingerprint

if TYPE_CHECKING:
    from flux_tenancy.components.git.sources import Sources

_CONNECT_SECONDS = 2
# Neither name resolution nor the first line of a server has another limit.
_SECONDS = 3

WRONG_HOST_KEY = Wording(
    "FT-GIT-130",
    "{address} has the {type} host key {found}, but the stack declares {declared}: Flux refuses the host, and cannot "
    "fetch the {count} sources there",
    "compare {found} with the fingerprint that the host publishes; if it is the same, declare this key in "
    "git.knownHosts, otherwise something else answers under the host's name",
)
NO_DECLARED_TYPE = Wording(
    "FT-GIT-131",
    "{address} has no host key of a declared type ({declared}), but {found}: Flux cannot fetch the {count} sources "
    "there",
    "compare a fingerprint with those that the host publishes, and declare this key in git.knownHosts",
)


def host_key_warnings(sources: Sources) -> list[Message]:
    """A warning for each declared host key that the host does not have, of the hosts that can be reached from here."""
    urls = [source.url for source in sources.by_name.values() if urlsplit(source.url).scheme == "ssh"]
    by_address = {address_of(url): url for url in urls}
    counts = Counter(map(address_of, urls))
    warnings = (
        _differences(address_of(url), counts[address_of(url)], keys_for(url, sources.known_hosts), keys)
        for url, keys in answers(_presented, by_address.values()).items()
    )
    return list(chain.from_iterable(warnings))


def _differences(address: str, count: int, declared: Sequence[HostKey], found: Sequence[HostKey]) -> list[Message]:
    # Flux uses the first declared key of a type, and asks the host only for types that are declared.
    wanted = {key.type: key for key in reversed(declared)}
    offered = [key for key in found if key.type in wanted]
    if found and not offered:
        shown = ", ".join(f"{key.type} {_fingerprint(key)}" for key in found)
        return [NO_DECLARED_TYPE(address=address, declared=", ".join(sorted(wanted)), found=shown, count=count)]
    return [
        WRONG_HOST_KEY(
            address=address,
            type=key.type,
            found=_fingerprint(key),
            declared=_fingerprint(wanted[key.type]),
            count=count,
        )
        for key in offered
        if key.key != wanted[key.type].key
    ]


def _presented(url: str) -> list[HostKey]:
    """The host keys that the host of an ssh URL presents; none if it cannot be asked from here."""
    parts = urlsplit(url)
    command = ["ssh-keyscan", "-T", str(_CONNECT_SECONDS), "-p", str(parts.port or 22), "--", parts.hostname or ""]
    try:
        scan = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return []
    keys = []
    for line in scan.stdout.splitlines():
        try:
            keys.append(parse(line))
        except KnownHostError:
            continue  # A key that no stack can declare.
    return keys


def _fingerprint(key: HostKey) -> str:
    return fingerprint(f"{key.type} {key.key}")
