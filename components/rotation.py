"""Rotating deploy keys without a gap: the key before is removed only when the source has been fetched with the new one.

The engine removes what is no longer asked for when the program has ended well. So the program does not end well while
a source has not come through with its new key: everything is applied by then, and the key before stays.
"""

from __future__ import annotations

from collections.abc import Collection

import pulumi

from components.configuration import StackConfig
from components.github import DEPLOY_KEY_TYPE, deploy_key_name, registered_key, source_of_deploy_key
from components.recorded import Recorded
from components.sources import sources_by_name
from components.sync_status import Progress


def rotating(config: StackConfig, recorded: Recorded) -> set[str]:
    """The sources, by the name of their objects, that have a deploy key at GitHub which they are not to have any more.

    Those of a tenant that goes as well are not among them.
    """
    sources = sources_by_name(config)
    wanted = {deploy_key_name(name, key) for name, source in sources.items() if (key := registered_key(source))}
    return {source_of_deploy_key(name) for name in recorded.names(DEPLOY_KEY_TYPE) - wanted} & sources.keys()


def proven(
    sources: Collection[str], progress: pulumi.Output[dict[str, Progress]]
) -> pulumi.Output[dict[str, Progress]]:
    """The same progress, once every one of `sources` has been fetched as it is wanted now.

    Raises:
        pulumi.RunError: inside the output, where one has not been.
    """

    def check(found: dict[str, Progress]) -> dict[str, Progress]:
        stuck = {name: found[name].fetched for name in sources if found[name].fetched.ready != "True"}
        if stuck and not pulumi.runtime.is_dry_run():
            reasons = "".join(f"\n  {name}: {status.message}" for name, status in sorted(stuck.items()))
            raise pulumi.RunError(
                "the new deploy key has not been seen to work, so the one before stays registered; mend what is "
                f"wrong, or take the key before back, and run `pulumi up` again:{reasons}"
            )
        return found

    return progress.apply(check)
