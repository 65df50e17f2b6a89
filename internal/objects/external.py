# SPDX-License-Identifier: Apache-2.0
"""Fits the packages of external providers to this image, the server's: DIRECTORY.

The packages come before the server's own on the path of modules. So a distribution that the server has as well is removed from them, and whatever
else would take the place of a module of the server's is refused. Nothing of the packages is imported.
"""

import ast
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import re
import sys

try:
    from packaging import requirements, tags
except ImportError:
    try:
        from pip._vendor.packaging import requirements, tags
    except ImportError:  # what depends on the versions shows when the server starts
        requirements = tags = None

# So many entries of the PYTHONPATH of the image are kept: the server's PYTHONPATH names a link for each.
KEPT_PATHS = 4
SUFFIXES = importlib.machinery.all_suffixes()


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def manifests(directory):
    """What the providers brought, in the order of their ids."""
    for file in sorted(os.listdir(directory)):
        with open(os.path.join(directory, file), encoding="utf-8") as f:
            yield json.load(f)


def remove(dropped, kept, packages):
    """Removes the files of distributions that no other one has."""
    needed = {file for d in kept for file in d["files"]}
    for d in dropped:
        for file in set(d["files"]) - needed:
            if os.path.exists(os.path.join(packages, file)):
                os.remove(os.path.join(packages, file))


def module_in(directories, name):
    """Reports whether a regular module of this name is there, and in which directories a part of a namespace package is."""
    parts = []
    for directory in directories:
        at = os.path.join(directory, name)
        if any(os.path.isfile(base + suffix) for base in (at, os.path.join(at, "__init__")) for suffix in SUFFIXES):
            return True, []
        if os.path.isdir(at):
            parts.append(at)
    return False, parts


def names_in(directories):
    return sorted({entry.partition(".")[0] for d in directories for entry in os.listdir(d) if not entry.endswith((".dist-info", ".pth"))})


def clashes(theirs, own, find, below=""):
    """The modules in directories that would take the place of the server's own."""
    for name in names_in(theirs):
        regular, parts = module_in(theirs, name)
        own_regular, own_parts = find(own, name)
        if regular and (own_regular or own_parts):
            yield below + name
        elif parts and own_parts:
            yield from clashes(parts, own_parts, module_in, below + name + "/")


def server_module(_, name):
    """Finds a module of the server as an import would."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # this program
        return True, []
    if spec is None:
        return False, []
    if spec.origin is None and spec.submodule_search_locations is not None:
        return False, list(spec.submodule_search_locations)
    return True, []


def conflicts(brought, versions, packages):
    """What a distribution needs that neither this image nor the other packages have, or have in another version."""
    who = f"{brought['name']} {brought['version']} of provider {brought['provider']}"
    metadata = importlib.metadata.PathDistribution.at(os.path.join(packages, info_of(brought)))
    built = re.findall(r"^Tag:\s*(\S+)", metadata.read_text("WHEEL") or "", re.MULTILINE)
    if built and not {str(tag) for tag in tags.sys_tags()}.intersection(one for tag in built for one in map(str, tags.parse_tag(tag))):
        yield f"{who} is built for {', '.join(built[:3])}, which Python {sys.version.split()[0]} of the server does not run"
    python = metadata.metadata.get("Requires-Python")
    if python and not requirements.SpecifierSet(python).contains(sys.version.split()[0], prereleases=True):
        yield f"{who} needs Python {python}, and the server has {sys.version.split()[0]}"
    for text in metadata.requires or ():
        try:
            need = requirements.Requirement(text)
            applies = need.marker is None or need.marker.evaluate({"extra": ""})
        except Exception:  # an odd requirement of an old package says nothing
            continue
        if not applies:
            continue
        owner, version = versions.get(normalized(need.name), ("", ""))
        if not owner:
            yield f"{who} needs {need.name}{need.specifier}, which neither the server nor a provider has"
        elif not need.specifier.contains(version, prereleases=True):
            yield f"{who} needs {need.name}{need.specifier}, and {owner} has {need.name} {version}"


def missing(manifest, packages):
    """What the module that the server loads imports, and nobody has. The module is read, not run."""
    name = manifest.get("module", "") + ".provider"
    file = os.path.join(packages, *name.split(".")) + ".py"
    if not os.path.isfile(file):
        return
    try:
        with open(file, "rb") as f:
            body = ast.parse(f.read(), os.path.basename(file)).body
    except (SyntaxError, ValueError) as error:
        yield f"{name} of provider {manifest['provider']} cannot be loaded: {error}"
        return
    for node in body:  # not what stands in a condition
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported = [node.module]
        else:
            continue
        for top in sorted({module.partition(".")[0] for module in imported}):
            if not any(module_in([packages], top)) and not any(server_module(None, top)):
                yield f"{name} of provider {manifest['provider']} imports {top}, which neither the server nor a provider has"


def info_of(brought):
    return next(file.partition("/")[0] for file in brought["files"] if file.partition("/")[0].endswith(".dist-info"))


def keep_image_path(directory):
    """Links the entries of the image's own PYTHONPATH, which the server's replaces."""
    os.makedirs(directory, exist_ok=True)
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if len(entries) > KEPT_PATHS:
        yield f"the PYTHONPATH of the server's image has {len(entries)} entries, and at most {KEPT_PATHS} can be kept"
        return
    for number, entry in enumerate(entries):
        link = os.path.join(directory, str(number))
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(os.path.abspath(entry), link)


def main(directory):
    packages = os.path.join(directory, "python-packages")
    sys.path = [entry for entry in sys.path if entry]  # a script of the server does not have the working directory there
    own = {}
    for d in importlib.metadata.distributions():
        name = d.metadata.get("Name")
        if name:
            own.setdefault(normalized(name), d.version)
    providers = list(manifests(os.path.join(directory, "metadata")))
    brought = [dict(d, provider=m["provider"]) for m in providers for d in m["distributions"] or ()]
    kept = [d for d in brought if normalized(d["name"]) not in own]
    dropped = [d for d in brought if normalized(d["name"]) in own]
    remove(dropped, kept, packages)
    for d in dropped:
        print(f"{d['name']} {d['version']} of provider {d['provider']} is left out: the server has {own[normalized(d['name'])]}")
    wrong = list(keep_image_path(os.path.join(directory, "image-path")))
    for module in clashes([packages], [], server_module):
        who = [f"{d['name']} of provider {d['provider']}" for d in kept if any(re.match(re.escape(module) + r"[./]", f) for f in d["files"])]
        wrong.append(f"{' and '.join(who)} would replace the server's own module {module.replace('/', '.')}: leave it out")
    for manifest in providers:
        wrong += missing(manifest, packages)
    if requirements:
        versions = {name: ("the server", version) for name, version in own.items()}
        versions.update({normalized(d["name"]): (f"provider {d['provider']}", d["version"]) for d in kept})
        for d in kept:
            wrong += conflicts(d, versions, packages)
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        sys.exit("dependency conflict: " + "; ".join(wrong[:3]) + more)
    print(f"{len(kept)} distributions of external providers")


main(sys.argv[1])
