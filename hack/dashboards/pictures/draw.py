# SPDX-License-Identifier: Apache-2.0
"""Takes a picture of each Grafana dashboard in a headless Chromium. make dashboard-pictures calls it."""

import argparse
import functools
import http.server
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

DEADLINE = 300_000  # milliseconds, enough for a busy machine
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-dev-shm-usage".split()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def draw(browser, url, name, file):
    """Draws one dashboard, and fails if the page reports an error or a panel has no data."""
    page = browser.new_context(viewport={"width": 1640, "height": 1000}).new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{url}#{name}.json", timeout=DEADLINE)
    page.wait_for_selector("#dashboard canvas", state="attached", timeout=DEADLINE)
    page.evaluate("document.fonts.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))")
    page.locator("#dashboard").screenshot(path=file, timeout=DEADLINE)
    empty = page.get_by_text("No data").count()
    if errors or empty:
        sys.exit(f"{name}: {empty} panels without data, errors {errors}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--page", type=Path, required=True)
    arguments.add_argument("--pictures", type=Path, required=True)
    arguments.add_argument("--browser", default=os.environ.get("CHROMIUM") or shutil.which("chromium"))
    arguments.add_argument("names", nargs="+")
    given = arguments.parse_args()
    if not given.browser:
        sys.exit("no Chromium: install Debian's package chromium, or set CHROMIUM")
    given.pictures.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Quiet, directory=given.page)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=given.browser, args=FLAGS, env={**os.environ, "HOME": home}, timeout=DEADLINE)
        for name in given.names:
            file = given.pictures / f"dashboard-{name}.png"
            draw(browser, f"http://127.0.0.1:{server.server_port}/index.html", name, file)
            print(file)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
