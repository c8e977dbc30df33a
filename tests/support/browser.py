"""A real browser for pages that are made as files, driven by Chromium's own protocol.

Source: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import websocket

CHROMIUM = shutil.which("chromium")
"""The program; None where there is none."""
_START_SECONDS = 60.0
# Without a sandbox, since tests may run as root; without the requests of the browser's own.
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    "--remote-debugging-port=0",
)


class Tab:
    """A page in the browser.

    Attributes:
        log: what the browser has reported of the page: errors, and what its policy has blocked.
    """

    def __init__(self, connection: websocket.WebSocket) -> None:
        self._connection, self._numbers = connection, itertools.count(1)
        self.log: list[str] = []
        for domain in ("Page", "Log", "Runtime"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the protocol."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv())
            if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                self.log.append(json.dumps(message["params"]))
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def open(self, file: Path) -> None:
        """Show a file, and wait until it is read."""
        self.ask("Page.navigate", url=file.resolve().as_uri())
        while self.value("document.readyState") != "complete" or self.value("location.protocol") != "file:":
            time.sleep(0.05)

    def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def go(self, fragment: str) -> None:
        """Follow a link within the page, and wait until it is shown."""
        shown = "new Promise((done) => addEventListener('hashchange', () => setTimeout(done), { once: true }))"
        self.value(f"location.hash === {json.dumps(fragment)} || (location.hash = {json.dumps(fragment)}, {shown})")

    def prefer(self, scheme: str) -> None:
        """Set the user's preference, `light` or `dark`."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, file: Path) -> None:
        """Write what the browser shows as PNG."""
        file.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser with one empty page, which ends with the block; its profile is in the folder."""
    assert CHROMIUM is not None
    process = subprocess.Popen(
        [CHROMIUM, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(folder / "DevToolsActivePort")
        pages = json.loads(urlopen(f"http://127.0.0.1:{port}/json").read())
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        connection = websocket.create_connection(address, suppress_origin=True, timeout=_START_SECONDS)
        try:
            yield Tab(connection)
        finally:
            connection.close()
    finally:
        process.terminate()
        process.wait()


def _port(file: Path) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while not (lines := file.read_text().splitlines() if file.exists() else []):
        assert time.monotonic() < deadline, f"{file} was not written"
        time.sleep(0.05)
    return int(lines[0])
