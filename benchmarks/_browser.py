"""Debian's Chromium without a screen, driven by Playwright, and a labelling server in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = os.environ.get("HALFMOON_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",  # WebGL in software
    "--enable-unsafe-swiftshader",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def until(page: Any, condition: str, seconds: float = 60.0) -> Any:
    """Wait until an expression is true in a page; return its value. The page forbids Playwright's own way."""
    end = time.monotonic() + seconds
    while True:
        value = page.evaluate(condition)
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"This did not become true within {seconds} s: {condition}")
        page.wait_for_timeout(15)


def ready(page: Any, seconds: float = 120.0) -> None:
    """Wait until a page shows the map."""
    until(page, "performance.getEntriesByName('halfmoon:first-paint').length > 0", seconds)


class LabelServer:
    """``halfmoon label`` in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.arguments = folder, arguments
        self.start()

    def start(self) -> None:
        """Start it, and wait for its address."""
        command = [sys.executable, "-m", "halfmoon", "label", *self.arguments, "--no-browser", "--json"]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"The server did not start; exit code {self.process.wait()}.")
        answer = json.loads(line)
        if "address" not in answer:
            raise RuntimeError(f"The server did not start: {answer}")
        self.address = answer["address"]

    def stop(self, number: int = signal.SIGINT) -> int:
        """End it with a signal; return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[LabelServer]:
    """Run a server for the time of a block."""
    server = LabelServer(folder, *arguments)
    try:
        yield server
    finally:
        server.stop()
