"""The proxy in front of Gitea, without its binary."""

from pathlib import Path

from dev.lab.github_proxy import GithubProxy


def test_its_upstream_is_gitea_and_its_command_has_no_secret(tmp_path):
    proxy = GithubProxy(tmp_path, "http://127.0.0.1:20800", 20802, 20803)

    command = proxy._command(Path("/tools/github-proxy"))

    assert command[0] == "/tools/github-proxy"
    assert "--upstream=http://127.0.0.1:20800" in command
    assert "--http=127.0.0.1:20802" in command
    assert "--https=127.0.0.1:20803" in command
