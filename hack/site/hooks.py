# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks that adapt the repository's pages to the docs site, without changing their files."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = ROOT / "internal" / "plugin" / "playground" / "page"
FENCE = re.compile(r"^(\s*```[\w-]+)[ \t]+\S.*$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")

QUICK_START = ("Install it on your cluster", "Your first server", "Read the status", "Remove it")
QUICK_START_INTRODUCTION = """# Quick start

You need a cluster, `kubectl`, and a clone of the repository, which has the files that the commands name. Without a cluster, try the
[playground](docs/playground.md).

"""


def on_config(config):
    """Adds pages that the navigation lacks, such as new decisions, to their section."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config["nav"])))
    found = sorted(path.relative_to(config["docs_dir"]).as_posix() for path in Path(config["docs_dir"]).rglob("*.md") if "maintainers" not in path.parts)
    rest = [page for page in found if page not in named]
    decisions = [page for page in rest if page.startswith("adr/")]
    if more := [page for page in rest if page not in decisions]:
        config["nav"].append({"More": more})
    if decisions:
        config["nav"].append({"Decisions": decisions})
    return config


def quick_start():
    """Returns the sections of the README for new users, whose only source is the README, because a test runs it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    found = [section for section in sections if section.startswith(tuple(f"## {title}\n" for title in QUICK_START))]
    if len(found) != len(QUICK_START):
        raise ValueError(f"the README has not all of the sections {', '.join(QUICK_START)}")
    return LINK.sub(lambda match: match[0].replace("](docs/", "](") if match[2].startswith("docs/") else match[0].replace("](", "](../"), QUICK_START_INTRODUCTION + "".join(found))


def on_files(files, config):
    """Adds the quick start, the page of the playground as playground/, and the files that complete the theme."""
    files.append(File.generated(config, "quick-start.md", content=quick_start()))
    for name in (*config["extra_css"], *map(str, config["extra_javascript"])):
        files.append(File.generated(config, name, abs_src_path=str(Path(__file__).with_name(name))))
    for path in sorted(PLAYGROUND.glob("[!.]*")):
        files.append(File.generated(config, "playground/" + path.name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Removes the attributes by which tests find blocks, and points links to files outside the site to the repository."""
    markdown = FENCE.sub(r"\1", markdown)

    def repository(match):
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), match[2]))
        if target.startswith("docs/") and not target.startswith("docs/maintainers/") and not (ROOT / target).is_dir():
            return match[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{match[1]}{config['extra']['repository']}/{kind}/main/{target}{match[3] or ''}{match[4]}"

    if page.file.src_uri == "index.md":
        markdown = markdown.replace("../README.md#install-it-on-your-cluster", "quick-start.md")
    markdown = LINK.sub(repository, markdown)
    if page.file.src_uri == "playground.md" and (PLAYGROUND / "index.html").exists():
        markdown = markdown.replace("`playground/index.html`", "[**the playground**](playground/index.html)")
    return markdown


def on_page_content(html, **_):
    """Turns empty header cells into data cells, because a screen reader would announce a column without a name."""
    return html.replace("<th></th>", "<td></td>")


def on_post_page(output, **_):
    """Adds a label to the search, which the theme lacks."""
    named = output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')
    if named == output:
        raise ValueError("the theme's search is another one: look whether it has a name for screen readers")
    return named
