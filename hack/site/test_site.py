# SPDX-License-Identifier: Apache-2.0
"""Tests the docs site and the page of the playground in a headless Chromium. make test-site calls it.

The plugin serves the page with its security policy; the results on the page must equal the output of the same plugin.
"""

import argparse
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 120  # seconds for any step of the browser, enough for a busy machine
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
LOOKS = {"light": {}, "dark": {"color_scheme": "dark"}, "narrow": {"viewport": {"width": 390, "height": 844}}}
# Pages of each kind: start, task, long tables, generated reference, decision.
KINDS = (
    "index.html", "quick-start.html", "connect-model-server.html", "troubleshooting.html", "configuration.html", "configuration-providers.html", "providers.html",
    "status.html", "kubectl-plugin.html", "release-lines.html", "faq.html", "adr/0004-three-classes-of-problems.html",
)
# The text of blocks that the theme's button copies.
COPIED = "blocks => blocks.map(b => { b.setAttribute('data-md-copying', ''); const t = b.innerText; b.removeAttribute('data-md-copying'); return t })"
ANSWERS = "performance.getEntriesByName('answer').length"


def until(what, condition):
    """Waits until the condition returns something true, and returns it."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE} s: {what}")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def copyfile(self, *args):
        with contextlib.suppress(ConnectionError):  # the browser has left the page
            super().copyfile(*args)


class Readers:
    """A browser whose pages must not report errors."""

    def __init__(self, browser, axe):
        self.browser, self.axe, self.errors, self.passed = browser, axe, [], 0

    def open(self, url, **options):
        page = self.browser.new_context(**{"viewport": {"width": 1300, "height": 850}, **options}).new_page()
        page.set_default_timeout(DEADLINE * 1000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.goto(url)
        return page

    def playground(self, url, **options):
        page = self.open(url, **options)
        until("the first answer", lambda: page.evaluate(ANSWERS))
        return page

    def accessible(self, page, what):
        page.evaluate(self.axe)
        found = page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 160)).slice(0, 4)]))")
        assert not found, f"{what}: accessibility: {json.dumps(found, indent=1)}"

    def done(self, what):
        assert not self.errors, f"{what}: the page reports {self.errors}"
        self.passed += 1
        print(f"ok  {what}", flush=True)


def text(page, view):
    """Returns the complete text of an editor, including the parts that the page does not draw."""
    return page.evaluate(
        "id => { const c = document.getElementById(id).shadowRoot.querySelector('.cm-content'); return c.cmTile?.view?.state.doc.toString() "
        "?? c.cmView.view.state.doc.toString() }",
        view,
    )


def replace(page, content):
    page.locator("#editor .cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(content)


def status(page, pattern):
    until(f"status {pattern!r}, not {page.locator('#status').inner_text()!r}", lambda: re.search(pattern, page.locator("#status").inner_text()))


def answered(page):
    """Returns the seconds from opening the page to the first response of the engine."""
    return page.evaluate("(e => e.startTime + e.duration)(performance.getEntriesByName('answer')[0])") / 1000


def check_typing(readers, url):
    page = readers.playground(url)
    first = page.evaluate("performance.getEntriesByName('first')[0].startTime") / 1000
    engine = answered(page)
    status(page, r"^No problems. Server release line")
    loaded = page.workers[0].evaluate("performance.getEntriesByType('resource').map(e => e.name.split('/').pop())")
    assert loaded == ["engine.wasm.br"], f"the plugin's server lets the browser unpack the engine, but the page loads {loaded}"
    assert "provider_id: vllm" in text(page, "config")
    height = page.locator("#editor").bounding_box()["height"]
    page.locator("#editor .cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("  netw", delay=50)
    offered = page.locator("#editor .cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled) li", has_text="networking")
    offered.wait_for()
    status(page, "error")
    offered.click()
    until("the completed field", lambda: "  networking:\n    " in text(page, "editor"))
    page.keyboard.press("Escape")
    page.keyboard.type("portt: 80")
    page.locator("#problems button.error", has_text="spec.networking.portt").wait_for()
    readers.accessible(page, "with an error")
    assert page.locator("#editor").bounding_box()["height"] == height, "a problem hides the line that is written"
    page.locator("#problems button.error").first.click()
    assert page.evaluate("document.activeElement.id") == "editor"
    answers = page.evaluate(ANSWERS)
    page.keyboard.press("Control+End")
    for _ in range(5):
        page.keyboard.press("Backspace")
    page.keyboard.type("s: ", delay=100)
    until("answers while typing", lambda: page.evaluate(ANSWERS) > answers)
    times = page.evaluate("performance.getEntriesByName('answer').slice(1).map(e => e.duration)")
    readers.done(f"typing; first result after {first:.1f} s, engine after {engine:.1f} s, then {statistics.median(times):.0f} ms, at most {max(times):.0f} ms")


def check_difference_and_link(readers, url):
    page = readers.playground(url)
    page.select_option("#sample", "v1alpha2-vector-store")
    lines = page.evaluate("[...document.querySelectorAll('#compare option')].map(o => o.value).filter(Boolean)")
    page.select_option("#release", lines[1])
    page.select_option("#compare", lines[0])
    page.locator("#difference h3", has_text=f"config.yaml: {lines[1]} → {lines[0]}").wait_for()
    readers.accessible(page, "difference")
    page.locator("#tab-difference").press("ArrowLeft")
    until("the objects", lambda: "kind: Deployment" in text(page, "objects"))
    readers.accessible(page, "objects")
    page.locator("#share").click()
    link = until("the link", lambda: page.evaluate("location.hash"))
    other = readers.playground(url + link)
    engine = answered(other)
    assert text(other, "editor") == text(page, "editor")
    assert other.input_value("#release") == lines[1] and other.input_value("#compare") == lines[0]
    broken = readers.playground(url + "#nonsense")
    assert "cannot be read" in broken.locator("#shared").inner_text()
    status(broken, "No problems")
    readers.done(f"difference, and the link: first result after {engine:.1f} s")


def check_without_engine(readers, url):
    """The page reports an engine that cannot be loaded, even if loading fails before the first request."""
    page = readers.browser.new_context().new_page()  # without the check of the console, which reports the missing file
    page.set_default_timeout(DEADLINE * 1000)
    page.route("**/worker.js", lambda route: route.abort())
    page.route("**/samples.json", lambda route: (page.wait_for_timeout(1000), route.continue_()))
    page.goto(url)
    page.locator("#problems button.error", has_text="the engine cannot be loaded").wait_for()
    status(page, "^1 error")
    readers.done("without its engine the page says so")


def check_looks(readers, url, pictures):
    for name, options in LOOKS.items():
        page = readers.playground(url, **options)
        status(page, "No problems")
        readers.accessible(page, name)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name}: {wide} pixels too wide"
        page.screenshot(path=pictures / f"playground-{name}.png", full_page=True)
        readers.done(f"accessibility, {name}")


def check_samples(readers, url, plugin):
    """Every sample on every release line equals the output of render, byte by byte, or is rejected as by render."""
    page = readers.playground(url)
    asked = page.evaluate(
        """async () => {
          const { samples, lines } = await (await fetch("samples.json")).json();
          const worker = new Worker("worker.js"), answers = [];
          const call = (id, value) => new Promise((done) => {
            worker.onmessage = ({ data }) => done(data);
            worker.postMessage({ id, call: "ask", in: value });
          });
          for (const line of ["", ...lines]) for (const { name, text } of samples) {
            const { result, error } = await call(answers.length, { text, release: line });
            answers.push({ name, line, error, ...result });
          }
          worker.terminate();
          return answers;
        }"""
    )
    rejected = 0
    for line in dict.fromkeys(answer["line"] for answer in asked):
        answers = [a for a in asked if a["line"] == line]
        good = [a for a in answers if not a.get("error") and all(p["severity"] != "error" for p in a["problems"])]

        def render(names, form):
            files = [part for name in names for part in ("-f", f"config/samples/{name}.yaml")]
            return subprocess.run([plugin, "render", "-o", form, "--server-version", line, *files], cwd=ROOT, capture_output=True, text=True, check=False)

        for form, field in (("config", "config"), ("yaml", "objects")):
            shown = "---\n".join(a[field] for a in good if a[field])
            printed = render([a["name"] for a in good], form)
            assert printed.returncode == 0 and printed.stdout == shown, f"line {line!r}, {form}: render prints something else\n{printed.stderr}"
        for answer in answers:
            if answer not in good:
                rejected += 1
                assert render([answer["name"]], "config").returncode == 1, f"{answer['name']}, line {line!r}: render accepts it"
    assert len(asked) > 200
    readers.done(f"{len(asked)} answers about samples are those of render, {rejected} of them rejections")


def check_site(readers, folder, pictures):
    for file in [*folder.rglob("*.html"), *folder.rglob("*.css")]:
        loaded = re.findall(r"""(?:<script[^>]+src|<img[^>]+src|<link[^>]+rel="?(?:stylesheet|preconnect)"?[^>]+href)=["']?(https?:[^"' >]+)""", file.read_text())
        assert not loaded, f"{file} loads {loaded}"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        for name, options in LOOKS.items():
            for number, file in enumerate(KINDS):
                page = page if number else readers.open(url + file, **options)
                page.goto(url + file)
                page.screenshot(path=pictures / f"site-{name}-{Path(file).stem}.png")
                readers.accessible(page, f"{file}, {name}")
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wide <= 0, f"{file}, {name}: {wide} pixels too wide"
            readers.done(f"docs site, {len(KINDS)} pages, accessibility, {name}")
        page.goto(url + "troubleshooting.html")
        copied = page.locator(".language-console code").evaluate_all(COPIED)
        assert copied and all(re.search(r"(?m)^(kubectl|make) ", text) and not re.search(r"(?m)^\$|…", text) for text in copied), f"the button copies {copied}"
        readers.done("a command is copied without its prompt and what it prints")
        page = readers.open(url + "index.html")
        # Typed, not filled: the theme reads the field on focus and with each key.
        page.locator("input.md-search__input").press_sequentially("rotate keys")
        page.locator(".md-search-result__item", has_text="Rotate").first.wait_for()
        readers.done("search of the docs site")
        readers.playground(url + "playground/index.html")
        readers.done("playground of the docs site")
        server.shutdown()


def serve(plugin):
    """Starts the plugin's server, compares its output with the docs, and returns the process and the page's address."""
    process = subprocess.Popen([plugin, "playground", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    printed = process.stdout.readline() + process.stdout.readline()
    for page in ("playground.md", "kubectl-plugin.md"):
        shown = re.search(r"```console\n\$ kubectl llamastack playground\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
        assert shown and shown[1].replace(":8322/", "") == re.sub(r":\d+/", "", printed), f"docs/{page} shows something else than {printed!r}"
    return process, re.search(r"http://\S+", printed)[0]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--site", type=Path, required=True)
    arguments.add_argument("--plugin", type=Path, required=True)
    arguments.add_argument("--pictures", type=Path, default=ROOT / "bin" / "pictures")
    arguments.add_argument("--browser", default=os.environ.get("CHROMIUM") or shutil.which("chromium"))
    given, _ = arguments.parse_known_args()
    assert given.browser, "no Chromium: install Debian's package chromium, or set CHROMIUM"
    given.pictures.mkdir(parents=True, exist_ok=True)
    axe = subprocess.run([ROOT / "hack/playground/packages.sh"], capture_output=True, text=True, check=True).stdout.strip()
    process, url = serve(given.plugin.resolve())
    try:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
            browser = playwright.chromium.launch(executable_path=given.browser, args=FLAGS, env={**os.environ, "HOME": home}, timeout=DEADLINE * 1000)
            readers = Readers(browser, (Path(axe) / "node_modules/axe-core/axe.min.js").read_text())
            check_typing(readers, url)
            check_difference_and_link(readers, url)
            check_without_engine(readers, url)
            check_looks(readers, url, given.pictures)
            check_samples(readers, url, given.plugin.resolve())
            check_site(readers, given.site.resolve(), given.pictures)
            browser.close()
    finally:
        process.terminate()
        process.wait(DEADLINE)
    print(f"{readers.passed} passed, 0 failed")


if __name__ == "__main__":
    main()
