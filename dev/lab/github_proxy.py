"""The lab's Git host as a GitHub Enterprise server: a proxy in front of Gitea, over plain HTTP and over HTTPS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dev.lab.certificates import LOCAL_HOSTS, Certificates, Request
from dev.lab.probe import probe
from dev.lab.processes import LOOPBACK, Command, Daemon, bring_up

_AUTHORITY = "git-host-ca"
_CERTIFICATE = "git-host"
_START_TIMEOUT = 15.0


@dataclass(frozen=True)
class GithubProxy:
    """One proxy on loopback; see ``dev/lab/tools/github-proxy`` for what it translates.

    Attributes:
        folder: the Git host's part of the state.
        upstream: URL of Gitea.
        http_port: GitHub's API and Git over plain HTTP.
        https_port: the same over HTTPS, with a certificate for 127.0.0.1 and localhost.
    """

    folder: Path
    upstream: str
    http_port: int
    https_port: int

    @property
    def address(self) -> str:
        """HTTP URL of the server, without a trailing slash."""
        return f"http://{LOOPBACK}:{self.http_port}"

    @property
    def secure_address(self) -> str:
        """HTTPS URL of the server, without a trailing slash."""
        return f"https://{LOOPBACK}:{self.https_port}"

    @property
    def certificate_authority(self) -> Path:
        """PEM file of the authority that signed the server's certificate."""
        return self._certificates.pair(_AUTHORITY).certificate

    def daemon(self) -> Daemon:
        """The server's process, running or not."""
        return Daemon(
            name="github-proxy",
            log=self.folder / "logs" / "github-proxy.log",
            pid_file=self.folder / "run" / "github-proxy.pid",
            ports=(self.http_port, self.https_port),
            # Gitea's health through the proxy; if HTTPS works, plain HTTP does as well.
            ready=lambda: probe(f"{self.secure_address}/api/healthz", self.certificate_authority),
        )

    def up(self, program: Path) -> None:
        """Start the proxy if it is not running; restart it for new certificates.

        Raises:
            LabError: a port is in use, the state cannot be written, or the proxy does not get ready.
        """
        if not self._certificates.are_usable():
            self.daemon().stop()
            self._certificates.renew()
        bring_up([{self.daemon(): self._command(program)}], _START_TIMEOUT)

    @property
    def _certificates(self) -> Certificates:
        request = Request("git-host", _AUTHORITY, hosts=LOCAL_HOSTS)
        return Certificates(self.folder / "pki", {_CERTIFICATE: request})

    def _command(self, program: Path) -> Command:
        serving = self._certificates.pair(_CERTIFICATE)
        return (
            str(program),
            f"--upstream={self.upstream}",
            f"--http={LOOPBACK}:{self.http_port}",
            f"--https={LOOPBACK}:{self.https_port}",
            f"--tls-cert={serving.certificate}",
            f"--tls-key={serving.key}",
        )
