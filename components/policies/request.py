"""CEL for what the policies ask of a request, whatever it is about."""

from __future__ import annotations

from components.policies.cel import text
from components.policies.parameters import NAMESPACES, listed
from components.tenant_objects import TENANT_LABEL

TENANT = f"namespaceObject.metadata.labels[{text(TENANT_LABEL)}]"
"""The name of the tenant that the request's namespace belongs to."""

OWN_NAMESPACES = f"([request.namespace] + {listed(NAMESPACES)})"
"""The namespaces of that tenant."""

PLATFORM_VERBS = (
    "{'CREATE': ['create'], 'UPDATE': ['update', 'patch'], 'DELETE': ['delete', 'deletecollection']}[request.operation]"
)
"""The verbs that the request may have come by: whoever holds one of them in the whole cluster is the platform.

A patch arrives as an UPDATE and a collection's deletion as DELETEs, and either may be all that a controller holds.
"""

SUBRESOURCE = "(has(request.subResource) ? request.subResource : '')"
"""The subresource that the request is for; empty where it is for the object itself."""

ASK = text("; ask the platform team if you need it")
"""The end of a message about something that the platform can allow."""
