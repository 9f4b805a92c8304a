"""A headless Chromium that is driven over a pipe by its own protocol: what a reader does, and what the console says."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BINARY = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECONDS = 30.0
"""Longest wait for an answer."""
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


class Tab:
    """One page, by the commands of the DevTools protocol.

    Attributes:
        complaints: errors and warnings of the console and of the page itself, exceptions, and what its policy refused.
        requests: addresses asked for.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; events that come meanwhile are noted."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file from disk and wait until it is there."""
        self.ask("Page.navigate", url=path.as_uri() + fragment)
        deadline = time.monotonic() + SECONDS
        while self.run("document.readyState") != "complete" or self.run("location.protocol") != "file:":
            assert time.monotonic() < deadline, f"{path} does not load"
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def click(self, selector: str) -> None:
        """A real click of the mouse in the middle of an element."""
        where = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{where}.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}})")
        box = self.run(
            f"(() => {{ const b = {where}.getBoundingClientRect(); return [b.x + b.width/2, b.y + b.height/2] }})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """A key, by its name, as the keyboard gives it."""
        code = {"Tab": 9, "Enter": 13, " ": 32}[key]
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def write(self, text: str) -> None:
        """Text into what has the focus."""
        self.ask("Input.insertText", text=text)

    def size(self, width: int, height: int = 900, *, phone: bool = False) -> None:
        """The window, in pixels of the page."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, *, dark: bool = False, media: str = "") -> None:
        """What the reader's system prefers, and the medium (`print`)."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme, still])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, or the whole page, as PNG."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], SECONDS)
            assert ready, "the browser does not answer"
            more = os.read(self._read, 1 << 20)
            assert more, "the browser is gone"
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, event: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(event["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A browser of its own, gone afterwards.

    Args:
        profile: an empty folder for what it stores.
    """
    assert BINARY is not None
    ours, theirs = os.pipe(), os.pipe()
    # the protocol is spoken on descriptors 3 and 4
    wiring = f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}'
    command = ["bash", "-c", wiring, "bash", BINARY, f"--user-data-dir={profile}", *FLAGS]
    process = subprocess.Popen(
        command, pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(ours[0])
    os.close(theirs[1])
    try:
        yield Tab(ours[1], theirs[0])
    finally:
        os.close(ours[1])
        os.close(theirs[0])
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
