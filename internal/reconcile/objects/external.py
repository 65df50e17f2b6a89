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


class Modules:
    """Reads, and never runs, the modules that the server imports first of all, and names what they import and nobody has."""

    # The packages whose modules are followed: of others nobody knows what they do to their own modules when they are imported.
    SERVER = ("llama_stack", "llama_stack_api", "ogx", "ogx_api")
    LIMIT = 200

    def __init__(self, packages, who):
        self.packages, self.who, self.read = packages, who, {}

    def base(self, name):
        """Where a module is, without the suffix of its file; empty where nobody knows."""
        top, _, below = name.partition(".")
        if top not in self.SERVER:
            return os.path.join(self.packages, *name.split("."))
        spec = importlib.util.find_spec(top)
        if spec is None or not spec.submodule_search_locations:
            return ""
        return os.path.join(spec.submodule_search_locations[0], *(below.split(".") if below else ()))

    def file(self, name):
        """The source of a module; empty where there is none."""
        base = self.base(name)
        return next((file for file in (os.path.join(base, "__init__.py"), base + ".py") if base and os.path.isfile(file)), "")

    def there(self, name):
        base = self.base(name)
        return not base or any(module_in([os.path.dirname(base)], os.path.basename(base)))

    def body(self, name):
        if name not in self.read:
            file = self.file(name)
            with open(file, "rb") as f:
                self.read[name] = ast.parse(f.read(), os.path.basename(file)).body
        return self.read[name]

    def names(self, name):
        """The names that a module has, None where only running it would tell."""
        try:
            found, todo = set(), list(self.body(name))
        except (SyntaxError, ValueError, RecursionError):
            return None
        while todo:
            node = todo.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.Name):
                found.add(node.id)
            todo.extend(ast.iter_child_nodes(node))
        return None if found & {"*", "__getattr__", "globals", "vars", "sys", "exec"} else found

    def lacks(self, name, wanted):
        """What is wrong with importing this name from a module, in Python's words; empty where nothing is, or where nobody knows."""
        if not self.there(name):
            return f"No module named '{name}'"
        names = self.names(name) if self.file(name) else None
        if names is None or wanted in names or self.there(f"{name}.{wanted}"):
            return ""
        return f"cannot import name '{wanted}' from '{name}'"

    def wrong(self, name):
        """What is wrong with a module of the provider and with those that it imports, beginning with its parents."""
        mine, todo, seen = name.partition(".")[0], [name], set()
        while todo and len(seen) < self.LIMIT:
            at = todo.pop(0)
            if at in seen or not self.file(at):
                continue
            seen.add(at)
            parent = at.rpartition(".")[0]
            if parent:
                todo.append(parent)
            try:
                body = self.body(at)
            except (SyntaxError, ValueError, RecursionError) as error:
                yield f"{at} of {self.who} cannot be loaded: {error}"
                continue
            for node in body:  # not what stands in a condition
                for module, wanted in self.imports(at, node):
                    top = module.partition(".")[0]
                    if not any(module_in([self.packages], top)) and not any(server_module(None, top)):
                        yield f"{at} of {self.who} imports {top}, which neither the server nor a provider has"
                    elif top == mine or top in self.SERVER:
                        fault = self.lacks(module, wanted) if wanted else ""
                        if fault:
                            yield f"{at} of {self.who}: {fault}"
                        elif top == mine:
                            todo += [module, f"{module}.{wanted}"]

    def imports(self, at, node):
        """The modules that a statement imports, each with a name of it, which may be empty."""
        if isinstance(node, ast.Import):
            return [(alias.name, "") for alias in node.names]
        if not isinstance(node, ast.ImportFrom):
            return []
        package = at if self.file(at).endswith("__init__.py") else at.rpartition(".")[0]
        for _ in range(node.level - 1):
            package = package.rpartition(".")[0]
        module = ".".join(part for part in (package if node.level else "", node.module) if part)
        return [(module, "" if alias.name == "*" else alias.name) for alias in node.names] if module else []


def missing(manifest, packages):
    """What the module that the server loads imports, and nobody has; and the function that the server calls."""
    name, who = manifest.get("module", "") + ".provider", "provider " + manifest["provider"]
    modules = Modules(packages, who)
    if not modules.file(name):
        return
    wrong = sorted(set(modules.wrong(name)))
    yield from wrong
    if not wrong and "get_provider_spec" not in (modules.names(name) or {"get_provider_spec"}):
        yield f"{who}: module '{name}' has no attribute 'get_provider_spec', which the server calls"


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
    if requirements:
        versions = {name: ("the server", version) for name, version in own.items()}
        versions.update({normalized(d["name"]): (f"provider {d['provider']}", d["version"]) for d in kept})
        for d in kept:
            wrong += conflicts(d, versions, packages)
    what = "dependency conflict" if wrong else "the server cannot load the packages"
    for manifest in providers:
        wrong += missing(manifest, packages)
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        sys.exit(what + ": " + "; ".join(wrong[:3]) + more)
    print(f"{len(kept)} distributions of external providers")


main(sys.argv[1])
