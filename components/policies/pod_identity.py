"""The policy about a pod's identity: its service account, and how long its tokens are valid."""

from __future__ import annotations

from components.allowlists.cel import joined
from components.config.types import seconds
from components.policies.config import PoliciesConfig
from components.policies.names import PolicyName
from components.policies.pods import POD, PODS, WORKLOADS, of_pod
from components.policies.policy import Policy, Subject, Validation
from components.policies.request import FLUX_ACCOUNT

# The API server recognizes the tokens that it mounts into every pod by their seven seconds above the hour.
# Source: WarnOnlyBoundTokenExpirationPeriod in pkg/serviceaccount/claims.go of Kubernetes 1.36
_MOUNTED_SECONDS = 3607


def pod_identity(config: PoliciesConfig) -> Policy:
    """No pod runs as the account that Flux impersonates, and no token has a long lifetime.

    A copied token works anywhere until it expires or its pod is gone.
    """
    longest = config.maximum_token_lifetime
    longest_seconds = max(int(seconds(longest)), _MOUNTED_SECONDS)
    expires = "source.?serviceAccountToken.?expirationSeconds.orValue(0)"
    return Policy(
        name=PolicyName.POD_IDENTITY,
        refuses="pods and templates of pods that run as the service account that Flux impersonates, or mount tokens "
        "that are valid for longer than is allowed",
        settings=("policies.maximumTokenLifetime",),
        threats=(33,),
        subject=Subject.CONTENT,
        resources=WORKLOADS,
        reads=POD,
        variables=PODS
        | {
            # Kubernetes still accepts the field's old name, `serviceAccount`, if the new one is missing.
            "accounts": "[variables.pod.?serviceAccountName.orValue(''), variables.pod.?serviceAccount.orValue('')]",
            "lasting": "variables.volumes.filter(volume, volume.?projected.?sources.orValue([])"
            f".exists(source, int({expires}) > {longest_seconds})).map(volume, volume.name)",
        },
        validations=(
            Validation(
                f"!({FLUX_ACCOUNT} in variables.accounts)",
                of_pod(
                    "serviceAccountName ",
                    FLUX_ACCOUNT,
                    " is the account that Flux applies everything in this namespace with; create a ServiceAccount of "
                    "the pods' own, and ask the platform team for what it has to be allowed",
                ),
            ),
            Validation(
                "size(variables.lasting) == 0",
                of_pod(
                    "volumes[].projected.sources[].serviceAccountToken.expirationSeconds of ",
                    joined("variables.lasting"),
                    f" is longer than {longest}, the longest that is allowed; shorten it: kubelet renews the token "
                    "in time",
                ),
            ),
        ),
    )
