"""What entries of allow-lists allow: one table for Python and both engines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from flux_tenancy.components.allowlists.entries import (
    ANYTHING,
    COMPARABLE_IMAGE,
    canonical,
    is_comparable,
    read_image_pattern,
    read_pattern,
    repository_of,
)

DIGEST = f"@sha256:{'0' * 64}"

_BELOW = "https://git.example.com/org/*"
_ONE = "https://git.example.com/org/app.git"
_SSH = "ssh://git@git.example.com:2222/org/*"
_HOST = "oci://registry.example.com/*"
_ROOT = "https://charts.example.com"
_ECR = "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com"
_CHARTS = "oci://registry.example.com/charts/*"
_CHARTS_BELOW = "https://charts.example.com/*"
_AZURE = "https://dev.azure.com/org/My%20Project/*"
_DOT = "https://git.example.com/org/.github"
_BUCKET = "bucket://storage.example.com:9000/charts"


def is_source_allowed(url: str, entry: str) -> bool:
    """Whether an entry allows the URL of a source."""
    if not is_comparable(url):
        return False
    allowed = read_pattern(entry)
    if allowed.authority == ANYTHING:
        return True
    scheme, _, rest = canonical(url).partition("://")
    host, *path = rest.split("/")
    if f"{scheme}://{host}" != allowed.authority:
        return False
    return tuple(path[: len(allowed.path)] if allowed.below else path) == allowed.path


def is_image_allowed(image: str, entry: str) -> bool:
    """Whether an entry allows an image, as a container names it."""
    if not re.fullmatch(COMPARABLE_IMAGE, image):
        return False
    allowed, repository = read_image_pattern(entry), repository_of(image)
    return repository.startswith(f"{allowed.repository}/") if allowed.below else repository == allowed.repository


def is_host_allowed(host: str, entries: Iterable[str]) -> bool:
    """Whether a list of entries allows a host."""
    return any(entry == host or (entry.startswith("*.") and host.endswith(entry[1:])) for entry in entries)


SOURCES: tuple[tuple[str, str, bool], ...] = (
    (_BELOW, "https://git.example.com/org/app", True),
    (_BELOW, "https://git.example.com/org/app.git", True),
    (_BELOW, "https://git.example.com/org/app/", True),
    (_BELOW, "https://git.example.com/org/app.git/", True),
    (_BELOW, "https://git.example.com/org/group/app", True),
    (_BELOW, "https://git.example.com/org/.git", False),
    (_BELOW, "https://git.example.com/org", True),
    (_BELOW, "https://git.example.com/org/", True),
    (_BELOW, "https://git.example.com/org.git", True),
    (_BELOW, "https://git.example.com/org/.github", True),
    (_BELOW, "https://git.example.com/org/My%20App", True),
    (_BELOW, "https://git.example.com", False),
    (_BELOW, "https://git.example.com/orgs", False),
    (_BELOW, "https://git.example.com/org.git/app", False),
    (_BELOW, "https://git.example.com/org-evil/app", False),
    (_BELOW, "https://git.example.com/Org/app", False),
    (_BELOW, "https://git.example.com/evil/org/app", False),
    (_BELOW, "https://git.example.com.evil.example/org/app", False),
    (_BELOW, "https://evil.example/git.example.com/org/app", False),
    (_BELOW, "https://git.example.com:443/org/app", False),
    (_BELOW, "https://git.example.com@evil.example/org/app", False),
    (_BELOW, "https://git.example.com/org/app@evil.example", False),
    (_BELOW, "https://user:password@git.example.com/org/app", False),
    (_BELOW, "https://GIT.example.com/org/app", False),
    (_BELOW, "https://git.example.com./org/app", False),
    (_BELOW, "https://git.example.com/org/../evil/app", False),
    (_BELOW, "https://git.example.com/org/./app", False),
    (_BELOW, "https://git.example.com/org/%2e%2e/evil", False),
    (_BELOW, "https://git.example.com/org/%2E%2E/evil", False),
    (_BELOW, "https://git.example.com/org/.%2e/evil", False),
    (_BELOW, "https://git.example.com/org/..%20/evil", False),
    (_BELOW, "https://git.example.com/org/%20../evil", False),
    (_BELOW, "https://git.example.com/org/.../evil", False),
    (_BELOW, "https://git.example.com/org/..app", False),
    (_BELOW, "https://git.example.com/org%2fapp", False),
    (_BELOW, "https://git.example.com/org/app%2Fmore", False),
    (_BELOW, "https://git.example.com/org/app%5cmore", False),
    (_BELOW, "https://git.example.com/org/app%252e", False),
    (_BELOW, "https://git.example.com/org/app%00", False),
    (_BELOW, "https://git.example.com/org/app%2", False),
    (_BELOW, "https://git.example.com/org/app%C0%AF", False),
    (_BELOW, "https://git.example.com/%6frg/app", False),
    (_BELOW, "https://git.example.com%20/org/app", False),
    (_BELOW, "https://git.example.com//org/app", False),
    (_BELOW, "https://git.example.com/org//app", False),
    (_BELOW, "https://git.example.com/org/app//", False),
    (_BELOW, "https://git.example.com\\org/app", False),
    (_BELOW, "https://git.example.com/org/app?ref=main", False),
    (_BELOW, "https://git.example.com/org/app#main", False),
    (_BELOW, "https://git.example.com/org/app evil", False),
    (_BELOW, "https://git.example.com/org/*", False),
    (_BELOW, "http://git.example.com/org/app", False),
    (_BELOW, "ssh://git.example.com/org/app", False),
    (_ONE, "https://git.example.com/org/app", True),
    (_ONE, "https://git.example.com/org/app.git", True),
    (_ONE, "https://git.example.com/org/app.git.git", False),
    (_ONE, "https://git.example.com/org/app/more", False),
    (_ONE, "https://git.example.com/org/apps", False),
    (_SSH, "ssh://git@git.example.com:2222/org/app.git", True),
    (_SSH, "ssh://git@git.example.com/org/app", False),
    (_SSH, "ssh://git@git.example.com:22220/org/app", False),
    (_SSH, "ssh://git.example.com:2222/org/app", False),
    (_SSH, "ssh://root@git.example.com:2222/org/app", False),
    (_SSH, "ssh://git:password@git.example.com:2222/org/app", False),
    (_SSH, "ssh://-oProxyCommand=evil@git.example.com:2222/org/app", False),
    (_HOST, "oci://registry.example.com/org/app", True),
    (_HOST, "oci://registry.example.com", True),
    (_HOST, "oci://registry.example.com/", True),
    (_HOST, "oci://registry.example.com.git", False),
    (_HOST, "oci://registry.example.co", False),
    (_HOST, "oci://registry.example.com:5000/org/app", False),
    (_HOST, "oci://registry.example.com/org/app:v1", False),
    (_HOST, "oci://registry.example.community/org/app", False),
    (_ROOT, "https://charts.example.com", True),
    (_ROOT, "https://charts.example.com/", True),
    (_ROOT, "https://charts.example.com/org", False),
    (_ROOT, "https://charts.example.com//", False),
    (_ROOT, "https://charts.example.com/.git", False),
    (_ROOT, "https://charts.example.com.git", False),
    (_ROOT, "https://charts.example.com.", False),
    (_ROOT, "https://charts.example.com:443", False),
    (_ROOT, "https://charts.example.com.evil.example", False),
    (_ROOT, "https://charts.example.com@evil.example", False),
    (_ROOT, "https://charts.example.com?x=/", False),
    (_ROOT, "https://charts.example.com#/", False),
    (_ROOT, "http://charts.example.com", False),
    (_ROOT, "https://", False),
    (_ECR, "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com", True),
    (_ECR, "oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/app", False),
    (_CHARTS, "oci://registry.example.com/charts", True),
    (_CHARTS, "oci://registry.example.com/charts/app", True),
    (_CHARTS, "oci://registry.example.com/charts-evil", False),
    (_CHARTS, "oci://registry.example.com", False),
    (_CHARTS_BELOW, "https://charts.example.com", True),
    (_CHARTS_BELOW, "https://charts.example.com/org/app", True),
    (_CHARTS_BELOW, "https://charts.example.com.evil.example", False),
    (_CHARTS_BELOW, "https://charts.example.community", False),
    (_AZURE, "https://dev.azure.com/org/My%20Project/_git/My%20App", True),
    (_AZURE, "https://dev.azure.com/org/My%20Project", True),
    (_AZURE, "https://dev.azure.com/org/My%20Project%20Evil/_git/App", False),
    (_AZURE, "https://dev.azure.com/org/My Project/_git/App", False),
    (_AZURE, "https://dev.azure.com/org/My+Project/_git/App", False),
    (_DOT, "https://git.example.com/org/.github", True),
    (_DOT, "https://git.example.com/org/.github.git", True),
    (_DOT, "https://git.example.com/org/..github", False),
    (_DOT, "https://git.example.com/org/github", False),
    (_SSH, "ssh://git@git.example.com:2222", False),
    (_SSH, "ssh://git@git.example.com:2222/org", True),
    (_BUCKET, "bucket://storage.example.com:9000", False),
    (_BUCKET, "bucket://storage.example.com:9000/charts", True),
    (_BUCKET, "bucket://storage.example.com/charts", False),
    (_BUCKET, "bucket://storage.example.com:9000/charts-evil", False),
    (_BUCKET, "bucket://storage.example.com:9000/../charts", False),
    (_BUCKET, "bucket://storage.example.com:9000/evil/charts", False),
)
"""Entry, URL of a source, whether the entry allows it. A Bucket is `bucket://<endpoint>/<name>`."""

_SLACK = "hooks.slack.com"
_ANY = "*.com"
_SENTRY = "*.ingest.sentry.io"
_INSIDE = "alertmanager.monitoring.svc:9093"

HOSTS: tuple[tuple[str, str, bool], ...] = (
    (_ANY, "https://hooks.slack.com/services/a/b/c", True),
    (_ANY, "https://discord.com/api/webhooks/1/a", True),
    (_ANY, "https://chat.googleapis.com/v1/spaces/a/messages?key=b&token=c", True),
    (_ANY, "https://a.logic.azure.com:443/workflows/b/triggers/manual/paths/invoke?sp=%2Frun", True),
    (_ANY, "https://org.webhook.office.com/webhookb2/a@b/IncomingWebhook/c", True),
    (_ANY, "https://key@o1.ingest.sentry.io/2", False),
    (_ANY, "http://hooks.slack.com/services/a/b/c", False),
    (_ANY, "https://alertmanager.monitoring", False),
    (_ANY, "https://192.0.2.1/a", False),
    (_ANY, "https://3221225985/a", False),
    (_ANY, "https://[2001:db8::1]/a", False),
    (_ANY, "https://localhost:9090/a", False),
    (_ANY, "https://alertmanager/a", False),
    (_ANY, "https://alertmanager.monitoring.svc.cluster.local/a", False),
    (_ANY, "https://hooks.slack.com@192.0.2.1/a", False),
    (_ANY, "https://hooks.slack.com:a@192.0.2.1/a", False),
    (_ANY, "https://hooks.slack.com\\@192.0.2.1/a", False),
    (_ANY, "https://hooks.slack.com./a", False),
    (_ANY, "https:///a", False),
    (_ANY, "https://hooks.slack.com/a,https://192.0.2.1", False),
    (_ANY, "https://hooks.slack.com/a https://192.0.2.1", False),
    (_ANY, " https://hooks.slack.com/a", False),
    (_ANY, "https://hooks.slack.com/\u00e9", False),
    (_SLACK, "https://hooks.slack.com", True),
    (_SLACK, "HTTPS://Hooks.Slack.com/services/a", True),
    (_SLACK, "https://hooks.slack.com/services/a/b/c", True),
    (_SLACK, "https://hooks.slack.com:443/services/a", True),
    (_SLACK, "https://hooks.slack.com:8443/services/a", False),
    (_SLACK, "http://hooks.slack.com/services/a", False),
    (_SLACK, "https://hooks.slack.com.evil.example/a", False),
    (_SLACK, "https://evil-hooks.slack.com/a", False),
    (_SLACK, "https://evil.example/hooks.slack.com", False),
    (_SLACK, "https://hooks.slack.com@evil.example/a", False),
    (_SLACK, "https://evil.example#@hooks.slack.com/a", False),
    (_SLACK, "https://evil.example?@hooks.slack.com/a", False),
    (_SLACK, "https://evil.example\\@hooks.slack.com/a", False),
    (_SLACK, "https://a@evil.example@hooks.slack.com/a", False),
    (_SLACK, "https://evil.example:443@hooks.slack.com/a", True),
    (_SENTRY, "https://key@o1.ingest.sentry.io/2", True),
    (_SENTRY, "https://ingest.sentry.io/2", False),
    (_SENTRY, "https://evil-ingest.sentry.io/2", False),
    (_SENTRY, "https://o1.ingest.sentry.io:8443/2", False),
    (_INSIDE, "https://alertmanager.monitoring.svc:9093/a", True),
    (_INSIDE, "http://alertmanager.monitoring.svc:9093/a", False),
    (_INSIDE, "https://alertmanager.monitoring.svc/a", False),
)
"""Entry for a host; where a notification goes to; whether it may."""

_ORG = "registry.example.com/org/*"
_NGINX = "docker.io/library/nginx"
_PORT = "localhost:5000/*"

IMAGES: tuple[tuple[str, str, bool], ...] = (
    (_ORG, "registry.example.com/org/app", True),
    (_ORG, "registry.example.com/org/app:v1", True),
    (_ORG, f"registry.example.com/org/app{DIGEST}", True),
    (_ORG, f"registry.example.com/org/group/app:v1{DIGEST}", True),
    (_ORG, "registry.example.com/org", False),
    (_ORG, "registry.example.com/org:app/v1", False),
    (_ORG, "registry.example.com/org-evil/app", False),
    (_ORG, "registry.example.com.evil.example/org/app", False),
    (_ORG, "registry.example.com:5000/org/app", False),
    (_ORG, "registry.example.com/org/../evil/app", False),
    (_ORG, "registry.example.com/org/app@evil.example/org/app", False),
    (_ORG, "REGISTRY.example.com/org/app", False),
    (_ORG, "org/app", False),
    (_NGINX, "nginx", True),
    (_NGINX, "nginx:1.27", True),
    (_NGINX, f"nginx{DIGEST}", True),
    (_NGINX, "library/nginx", True),
    (_NGINX, "docker.io/nginx", True),
    (_NGINX, "docker.io/library/nginx:1.27", True),
    (_NGINX, "index.docker.io/library/nginx", False),
    (_NGINX, "nginx/nginx", False),
    (_NGINX, "docker.io.evil.example/library/nginx", False),
    (_NGINX, "EVIL/nginx", False),
    ("docker.io/evil/*", "EVIL/nginx", False),
    ("docker.io/*", "EVIL/nginx", False),
    ("docker.io/*", "somebody/nginx", True),
    ("docker.io/*", "evil.example/nginx", False),
    (_PORT, "localhost:5000/app:v1", True),
    (_PORT, "localhost/app", False),
)
"""Entry, image as a container names it, whether the entry allows it."""
