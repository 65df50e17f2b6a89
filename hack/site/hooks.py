# SPDX-License-Identifier: Apache-2.0
"""What the docs site does differently from the pages in the repository: the pages themselves stay as they are read there."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = ROOT / "internal" / "cli" / "playground" / "page"
FENCE = re.compile(r"^(\s*```[\w-]+)[ \t]+\S.*$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")


def on_files(files, config):
    """Adds the page of the playground, which is no documentation, as playground/."""
    for path in sorted(PLAYGROUND.glob("[!.]*")):
        files.append(File.generated(config, "playground/" + path.name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Drops the attributes by which tests find blocks, and turns links out of docs/ into links to the repository."""
    markdown = FENCE.sub(r"\1", markdown)

    def repository(match):
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), match[2]))
        if target.startswith("docs/") and not (ROOT / target).is_dir():
            return match[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{match[1]}{config['repo_url']}/{kind}/main/{target}{match[3] or ''}{match[4]}"

    return LINK.sub(repository, markdown)
