"""What the cluster package says about the connection to a cluster, and about owners of fields."""

from __future__ import annotations

from components.config.wordings import Wording

KUBECONFIG_UNREADABLE = Wording("FT-CLU-001", "{file} cannot be read: {reason}")
NOT_A_KUBECONFIG = Wording("FT-CLU-002", "is not a kubeconfig: it lists no contexts")
UNKNOWN_CONTEXT = Wording("FT-CLU-003", "the kubeconfig has no context {context!r}; it has {contexts}")
NO_CONTEXT = Wording("FT-CLU-004", "the kubeconfig has no current context; it has {contexts}", "set cluster.context")
KUBECONFIG_UNUSABLE = Wording("FT-CLU-005", "cannot be used: {reason}")
USER_REFUSED = Wording(
    "FT-CLU-006",
    "{server} refuses this user ({status} {reason}){expiry}",
    "renew the credentials, which need cluster-admin rights (a preview: those of `make previewer-role`)",
)
WRONG_SERVER = Wording(
    "FT-CLU-007", "{server} is not the server that the kubeconfig expects ({reason})", "renew the kubeconfig"
)
UNEXPECTED_ANSWER = Wording(
    "FT-CLU-008",
    "{server} answers {status} {reason}",
    "check that it is a Kubernetes API server and that it is healthy",
)
NOT_AN_API_SERVER = Wording(
    "FT-CLU-009", "{server} does not answer like a Kubernetes API server", "correct the server in the kubeconfig"
)
SERVER_UNREACHABLE = Wording(
    "FT-CLU-013",
    "{server} cannot be reached",
    "check that the cluster is running and that this machine has access to it",
)
KEEPS_CHANGING = Wording(
    "FT-CLU-014",
    "{server} answers 409 Conflict: something else keeps changing the object",
    "run the command again",
)

CO_OWNED_PREVIEW = Wording(
    "FT-CLU-010",
    "{kind} {name}: field manager {manager!r} owns parts of its spec; the update takes them over",
)
CO_OWNED = Wording(
    "FT-CLU-011",
    "{kind} {name}: field manager {manager!r} owned parts of its spec; the update has taken them over",
)
STILL_CO_OWNED = Wording(
    "FT-CLU-012",
    "{kind} {name}: field manager {manager!r} owns parts of its spec and keeps what the stack no longer sets: {reason}",
)
