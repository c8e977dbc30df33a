"""A stand-in for Pulumi Cloud: its HTTP API on loopback and in memory, as far as the engine asks for it.

It is written against the engine's client, not against the service, whose source is not public. It has organizations,
projects and stacks with tags, secrets encrypted by stack, updates with leases, whose operations come as a journal,
and what reads them. It takes no checkpoints, and has no teams, permissions, policy packs, environments,
deployments and console, renames no stack, and keeps neither events nor a history. What the service does when a lease
ends is a guess: the next update goes on from what the last one has sent.

Nothing of the product depends on it, as nothing depends on Gitea, the stand-in for GitHub.

Source: pkg/backend/httpstate/client and sdk/go/common/apitype of Pulumi
"""

from __future__ import annotations

import gzip
import json
import re
import secrets
import time
import uuid
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from cryptography.fernet import Fernet, InvalidToken

from tests.support.http_double import Answer, Asked, serving, stop
from tests.support.pulumi_journal import Journal, Json

LEASE_SECONDS = 300.0
ORGANIZATION, OTHER_ORGANIZATION = "acme", "others"
_VERSION = 3
_EMPTY: Json = {"manifest": {"time": "0001-01-01T00:00:00Z", "magic": "", "version": ""}}
_IN_PROGRESS = "Conflict: Another update is currently in progress."
_ENDED = "Conflict: The Update has already completed"


class Refused(Exception):
    """An answer that says no.

    Attributes:
        code: the HTTP status.
        message: why.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass
class Update:
    """An update of a stack, or a preview."""

    kind: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    status: str = "not started"
    expires: float = 0.0
    journal: Journal | None = None

    @property
    def is_running(self) -> bool:
        return self.status == "running" and time.monotonic() < self.expires


@dataclass
class Stack:
    """A stack with its state, its updates and the key of its secrets."""

    organization: str
    project: str
    name: str
    tags: Json
    deployment: Json = field(default_factory=lambda: dict(_EMPTY))
    version: int = 0
    active: Update | None = None
    updates: dict[str, Update] = field(default_factory=dict)
    crypter: Fernet = field(default_factory=lambda: Fernet(Fernet.generate_key()))

    @property
    def state(self) -> Json:
        """The state, with what a running update has sent."""
        journal = self.active.journal if self.active else None
        return journal.deployment() if journal else self.deployment

    def begin(self, update: Update) -> None:
        if self.active and self.active.is_running:
            raise Refused(409, _IN_PROGRESS)
        if self.active and self.active.status == "running":
            self.end(self.active, "cancelled")
        self.version += 1
        self.active = update

    def end(self, update: Update, status: str) -> None:
        self.deployment = self.state
        update.journal, update.status = None, status

    def decrypted(self, text: str) -> str:
        try:
            return b64encode(self.crypter.decrypt(b64decode(text))).decode()
        except InvalidToken:
            raise Refused(400, "Bad Request: invalid ciphertext") from None

    def encrypted(self, text: str) -> str:
        """The ciphertext of a value; both in Base64."""
        return b64encode(self.crypter.encrypt(b64decode(text))).decode()

    @property
    def summary(self) -> Json:
        return {"id": self.name, "orgName": self.organization, "projectName": self.project, "stackName": self.name}


@dataclass(frozen=True)
class Request:
    """A request: the parts of its path, its content as text and as JSON, and how its sender has logged in."""

    parts: Mapping[str, str]
    text: bytes
    credentials: tuple[str, str]

    @property
    def body(self) -> Json:
        found: Json = json.loads(self.text or b"{}")
        return found


class PulumiCloud:
    """The service; every user may do everything in both organizations.

    Attributes:
        url: for PULUMI_BACKEND_URL.
        tokens: names of users by their access tokens.
        stacks: the stacks by organization, project and name.
        seen: the number of requests by what they ask for, e.g. `journal_entries`.
    """

    def __init__(self) -> None:
        self.tokens = {secrets.token_hex(16): name for name in ("alice", "bob")}
        self.stacks: dict[tuple[str, str, str], Stack] = {}
        self.seen = Counter[str]()
        self._lock = Lock()
        self._server = serving(self._answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def environment(self, user: str = "alice") -> dict[str, str]:
        """The variables by which `pulumi` logs a user in."""
        token = next(token for token, name in self.tokens.items() if name == user)
        return {"PULUMI_BACKEND_URL": self.url, "PULUMI_ACCESS_TOKEN": token}

    def stop(self) -> None:
        stop(self._server)

    def _answer(self, asked: Asked) -> Answer:
        text = gzip.decompress(asked.body) if asked.headers.get("Content-Encoding") == "gzip" else asked.body
        kind, _, token = asked.headers.get("Authorization", "").partition(" ")
        try:
            return Answer.of_json(200, self._found(asked.method, asked.path, text, (kind, token)) or {})
        except Refused as refused:
            return Answer.of_json(refused.code, {"code": refused.code, "message": refused.message})

    def _found(self, method: str, path: str, text: bytes, credentials: tuple[str, str]) -> Any:
        """The content of an answer; the lock is held, so that one request comes after the other.

        Raises:
            Refused: with the status of the answer.
        """
        for verb, pattern, act in _ROUTES:
            if verb == method and (found := pattern.fullmatch(path)):
                with self._lock:
                    self.seen[act.__name__] += 1
                    return act(self, Request(found.groupdict(), text, credentials))
        raise Refused(404, f"Not Found: {method} {path}")

    def _user(self, request: Request) -> str:
        kind, token = request.credentials
        if kind != "token" or token not in self.tokens:
            raise Refused(401, "Unauthorized: No credentials provided or are invalid.")
        return self.tokens[token]

    def _stack(self, request: Request) -> Stack:
        self._user(request)
        return self._known(request)

    def _known(self, request: Request) -> Stack:
        parts = request.parts
        found = self.stacks.get((parts["org"], parts["project"], parts["stack"]))
        if found is None:
            raise Refused(404, f"Not Found: Stack '{parts['org']}/{parts['project']}/{parts['stack']}' not found")
        return found

    def _leased(self, request: Request) -> tuple[Stack, Update]:
        """The update whose lease the request has, which has to be valid."""
        stack = self._known(request)
        update = stack.updates.get(request.parts["update"])
        if update is None or request.credentials != ("update-token", update.token) or not update.is_running:
            raise Refused(403, "Forbidden: The update's lease has ended")
        return stack, update

    def user(self, request: Request) -> Json:
        name = self._user(request)
        organizations = [{"githubLogin": each, "name": each} for each in (name, ORGANIZATION, OTHER_ORGANIZATION)]
        return {"id": name, "githubLogin": name, "name": name, "organizations": organizations}

    def default_organization(self, request: Request) -> Json:
        return {"GitHubLogin": self._user(request)}

    def capabilities(self, request: Request) -> Json:
        return {"capabilities": [{"capability": "batch-encrypt"}]}

    def list_stacks(self, request: Request) -> Json:
        self._user(request)
        count = {name: len(each.state.get("resources") or ()) for name, each in self.stacks.items()}
        return {"stacks": [each.summary | {"resourceCount": count[name]} for name, each in self.stacks.items()]}

    def create_stack(self, request: Request) -> Json:
        user, body = self._user(request), request.body
        name = (request.parts["org"], request.parts["project"], body["stackName"])
        if name[0] not in (user, ORGANIZATION, OTHER_ORGANIZATION):
            raise Refused(404, f"Not Found: Organization '{name[0]}' not found")
        if name in self.stacks:
            raise Refused(409, f"Conflict: Stack '{name[2]}' already exists")
        self.stacks[name] = Stack(*name, body.get("tags") or {})
        return {}

    def get_stack(self, request: Request) -> Json:
        stack = self._stack(request)
        active = stack.active.id if stack.active else ""
        return stack.summary | {"activeUpdate": active, "tags": stack.tags, "version": stack.version}

    def delete_stack(self, request: Request) -> None:
        stack = self._stack(request)
        if stack.state.get("resources") and request.parts["query"] != "?force=true":
            raise Refused(400, "Bad Request: Stack still contains resources.")
        del self.stacks[stack.organization, stack.project, stack.name]

    def set_tags(self, request: Request) -> None:
        self._stack(request).tags = request.body

    def encrypt(self, request: Request) -> Json:
        return {"ciphertext": self._stack(request).encrypted(request.body["plaintext"])}

    def decrypt(self, request: Request) -> Json:
        return {"plaintext": self._stack(request).decrypted(request.body["ciphertext"])}

    def batch_encrypt(self, request: Request) -> Json:
        stack = self._stack(request)
        return {"ciphertexts": [stack.encrypted(each) for each in request.body["plaintexts"] or ()]}

    def batch_decrypt(self, request: Request) -> Json:
        stack = self._stack(request)
        return {"plaintexts": {each: stack.decrypted(each) for each in request.body["ciphertexts"] or ()}}

    def ignore(self, request: Request) -> None:
        self._stack(request)

    def export(self, request: Request) -> Json:
        return {"version": _VERSION, "deployment": self._stack(request).state}

    def import_(self, request: Request) -> Json:
        stack, update = self._stack(request), Update("import")
        stack.begin(update)
        stack.updates[update.id] = update
        stack.deployment = request.body["deployment"]
        stack.end(update, "succeeded")
        return {"updateId": update.id}

    def create_update(self, request: Request) -> Json:
        stack = self._stack(request)
        update = Update(request.parts["kind"])
        stack.updates[update.id] = update
        return {"updateID": update.id}

    def start_update(self, request: Request) -> Json:
        stack = self._stack(request)
        update = stack.updates[request.parts["update"]]
        if update.kind != "preview":
            stack.begin(update)
            update.journal = Journal(stack.deployment)
        stack.tags = request.body.get("tags") or stack.tags
        update.status, update.expires = "running", time.monotonic() + LEASE_SECONDS
        return {"version": stack.version, "token": update.token, "journalVersion": request.body["journalVersion"]}

    def get_update(self, request: Request) -> Json:
        return {"status": self._stack(request).updates[request.parts["update"]].status, "events": []}

    def renew_lease(self, request: Request) -> Json:
        _, update = self._leased(request)
        update.expires = time.monotonic() + request.body["duration"]
        return {"token": update.token}

    def events(self, request: Request) -> None:
        self._leased(request)

    def journal_entries(self, request: Request) -> None:
        _, update = self._leased(request)
        if update.journal is None:
            raise Refused(400, "Bad Request: the update has no journal")
        for entry in request.body["entries"]:
            update.journal.add(entry)

    def complete(self, request: Request) -> Json:
        stack, update = self._leased(request)
        if update is stack.active:
            stack.end(update, request.body["status"])
        update.status = request.body["status"]
        return {}

    def cancel(self, request: Request) -> None:
        stack = self._stack(request)
        update = stack.updates[request.parts["update"]]
        if update.status != "running":
            raise Refused(409, _ENDED)
        stack.end(update, "cancelled")


_STACK = "/api/stacks/{org}/{project}/{stack}"
_UPDATE = f"{_STACK}/update/{{update}}"
_PATHS: Sequence[tuple[str, str, Callable[[PulumiCloud, Request], Any]]] = (
    ("GET", "/api/user", PulumiCloud.user),
    ("GET", "/api/user/organizations/default", PulumiCloud.default_organization),
    ("GET", "/api/capabilities", PulumiCloud.capabilities),
    ("GET", "/api/user/stacks", PulumiCloud.list_stacks),
    ("POST", "/api/stacks/{org}/{project}", PulumiCloud.create_stack),
    ("GET", _STACK, PulumiCloud.get_stack),
    ("DELETE", _STACK, PulumiCloud.delete_stack),
    ("PATCH", f"{_STACK}/tags", PulumiCloud.set_tags),
    ("POST", f"{_STACK}/encrypt", PulumiCloud.encrypt),
    ("POST", f"{_STACK}/decrypt", PulumiCloud.decrypt),
    ("POST", f"{_STACK}/batch-encrypt", PulumiCloud.batch_encrypt),
    ("POST", f"{_STACK}/batch-decrypt", PulumiCloud.batch_decrypt),
    ("POST", f"{_STACK}/decrypt/{{log}}", PulumiCloud.ignore),
    ("GET", f"{_STACK}/export", PulumiCloud.export),
    ("POST", f"{_STACK}/import", PulumiCloud.import_),
    ("POST", f"{_STACK}/{{kind}}", PulumiCloud.create_update),
    ("POST", _UPDATE, PulumiCloud.start_update),
    ("GET", _UPDATE, PulumiCloud.get_update),
    ("POST", f"{_UPDATE}/renew_lease", PulumiCloud.renew_lease),
    ("POST", f"{_UPDATE}/events/batch", PulumiCloud.events),
    ("PATCH", f"{_UPDATE}/journalentries", PulumiCloud.journal_entries),
    ("POST", f"{_UPDATE}/complete", PulumiCloud.complete),
    ("POST", f"{_UPDATE}/cancel", PulumiCloud.cancel),
)
_ROUTES = [
    (method, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/?]+)", path) + r"(?P<query>\?.*)?"), act)
    for method, path, act in _PATHS
]


@contextmanager
def running() -> Iterator[PulumiCloud]:
    """The service during the block."""
    cloud = PulumiCloud()
    try:
        yield cloud
    finally:
        cloud.stop()
