"""What an entry of an allow-list allows and what not: one table for Python and for both engines."""

from __future__ import annotations

DIGEST = f"@sha256:{'0' * 64}"

_BELOW = "https://git.example.com/org/*"
_ONE = "https://git.example.com/org/app.git"
_SSH = "ssh://git@git.example.com:2222/org/*"
_HOST = "oci://registry.example.com/*"
_BUCKET = "bucket://storage.example.com:9000/charts"

SOURCES: tuple[tuple[str, str, bool], ...] = (
    (_BELOW, "https://git.example.com/org/app", True),
    (_BELOW, "https://git.example.com/org/app.git", True),
    (_BELOW, "https://git.example.com/org/app/", True),
    (_BELOW, "https://git.example.com/org/app.git/", True),
    (_BELOW, "https://git.example.com/org/group/app", True),
    (_BELOW, "https://git.example.com/org/.git", False),
    (_BELOW, "https://git.example.com/org", False),
    (_BELOW, "https://git.example.com/org/", False),
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
    (_HOST, "oci://registry.example.com", False),
    (_HOST, "oci://registry.example.com:5000/org/app", False),
    (_HOST, "oci://registry.example.com/org/app:v1", False),
    (_HOST, "oci://registry.example.community/org/app", False),
    (_BUCKET, "bucket://storage.example.com:9000/charts", True),
    (_BUCKET, "bucket://storage.example.com/charts", False),
    (_BUCKET, "bucket://storage.example.com:9000/charts-evil", False),
    (_BUCKET, "bucket://storage.example.com:9000/../charts", False),
    (_BUCKET, "bucket://storage.example.com:9000/evil/charts", False),
)
"""Entry, URL of a source, whether the entry allows it. A Bucket is `bucket://<endpoint>/<name>`."""

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
