# SPDX-License-Identifier: Apache-2.0
"""Starts real servers, and scripts that use the server's code, quickly: imports the server once and forks a process for each.

    "$(./venv.sh 0.7)" boot.py CONFIG

It imports the server's command line, and the providers that CONFIG, a base, names. Then it reads commands from standard input and
tells on standard output what happened, one JSON object a line each:

    {"start": NAME, "config": FILE, "dir": FOLDER, "env": {...}, "hosts": {"vllm": ADDRESS}}   a server with exactly this environment
    {"script": FILE, "name": NAME, "args": [...], "dir": FOLDER}                               a script of this folder
    {"stop": NAME}                                                                             SIGTERM, and SIGKILL when that does not help
    {"ready": true}    {"ended": NAME, "status": N, "cpu": SECONDS}

A server does what the command line does with `stack run CONFIG`; its output goes to the file `log` in its folder. Names of
hosts resolve as `hosts` says, to addresses of loopback; no other name resolves, so nothing leaves the machine. What cannot be had
without a download is stood in for: the tokenizer cl100k_base knows single bytes only. Releases with processes for jobs, each of which
imports the server anew, start one of them instead of two; no configuration says how many.

A script does what it does when Python is started with it: with the files stdin, stdout and stderr in its folder, and in the
environment and the working directory of this program.

The end of standard input stops all of them.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import server_package
import yaml
from server_package import ServerPackage

# What a server gets to end after SIGTERM.
STOP_SECONDS = 10
PAUSE_SECONDS = 0.05
# What other packages import only when a server starts.
LATE_MODULES = ("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto", "pydantic.v1")
# prctl(2): orphans of a process become its own children.
PR_SET_CHILD_SUBREAPER = 36
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def preload(server: ServerPackage, base: Path) -> None:
    """Imports what nearly every server will need. What cannot be imported here the server that wants it reports by itself."""
    server.command_line()
    for module in (*server.core_modules(), *LATE_MODULES):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    config = server.config_class(**server.replace_env_vars(yaml.safe_load(base.read_text(encoding="utf-8"))))
    for api, types in server.provider_registry(config).items():
        for entry in config.providers.get(api.value, []):
            spec = types.get(entry.provider_type) if entry.provider_id else None
            if spec is not None and spec.module:
                for module in submodules(spec.module):
                    with contextlib.suppress(Exception):
                        importlib.import_module(module)


def submodules(package: str) -> Iterator[str]:
    """The package and what lies directly in it."""
    yield package
    with contextlib.suppress(ImportError):
        for module in pkgutil.iter_modules(getattr(importlib.import_module(package), "__path__", [])):
            yield f"{package}.{module.name}"


def stand_in_tokenizer() -> None:
    """Makes tiktoken find an encoding of this name, whose file it would download."""
    tiktoken = importlib.import_module("tiktoken")
    name = "cl100k_base"
    tiktoken.registry.ENCODINGS[name] = tiktoken.Encoding(
        name, pat_str=".", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )


def one_job_worker(server: ServerPackage) -> None:
    with contextlib.suppress(ImportError):  # none before 1.3
        jobs: Any = importlib.import_module(f"{server.package}.core.jobs.bootstrap")
        jobs.DEFAULT_JOB_WORKERS = 1


def resolve_only(hosts: dict[str, str]) -> None:
    """From now on these names resolve to these addresses, loopback to itself, and nothing else resolves."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name in hosts:
            return resolve(hosts[name], port, *args, **kwargs)
        if not name or name in LOOPBACK or name.startswith("127."):
            return resolve(host, port, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, f"{name} is no host of this test")

    socket.getaddrinfo = getaddrinfo


def become(what: Callable[[], Any], standard_input: Path | str, output: Path, errors: Path) -> None:
    """Makes the process that the caller has just forked what it is for, with files as its standard streams. Never returns."""
    status = 1
    try:
        if sys.platform == "linux":
            pr_set_pdeathsig = 1
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        # What appends may share a file.
        written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        for target, file, flags in ((0, standard_input, os.O_RDONLY), (1, output, written), (2, errors, written)):
            source = os.open(file, flags, 0o600)
            os.dup2(source, target)
            os.close(source)
        warnings.resetwarnings()
        what()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        logging.exception("it failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve(server: ServerPackage, command: dict[str, Any]) -> None:
    """Becomes the server."""

    def run() -> None:
        os.chdir(command["dir"])
        os.environ.clear()
        os.environ.update(command["env"])
        resolve_only(command["hosts"])
        sys.argv = [server.package, "stack", "run", command["config"]]
        server.command_line()()

    log = Path(command["dir"], "log")
    become(run, os.devnull, log, log)


def run_script(command: dict[str, Any]) -> None:
    """Becomes a script."""

    def run() -> None:
        sys.argv = [command["script"], *command["args"]]
        runpy.run_path(command["script"], run_name="__main__")

    folder = Path(command["dir"])
    become(run, folder / "stdin", folder / "stdout", folder / "stderr")


def end_rest(group: int) -> None:
    """Ends what a server that has ended leaves of its own processes, and waits for that: nobody writes into its folder any more."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-group, 0)


class Nursery:
    """The running servers and scripts, and their keeper's loop."""

    def __init__(self, server: ServerPackage, commands: BinaryIO, events: int) -> None:
        self.server = server
        self.commands = commands
        self.events = events
        self.running: dict[int, str] = {}
        """Names by process id."""
        self.killed_at: dict[int, float] = {}
        """When patience ends, by process id."""

    def tell(self, **event: Any) -> None:
        os.write(self.events, json.dumps(event).encode() + b"\n")

    def run(self) -> None:
        self.tell(ready=True)
        pending = b""
        reading = True
        while reading or self.running:
            readable, _, _ = select.select([self.commands] if reading else [], [], [], PAUSE_SECONDS)
            if readable:
                chunk = os.read(self.commands.fileno(), 65536)
                reading = bool(chunk)
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    self.obey(json.loads(line))
                if not reading:
                    for pid in list(self.running):
                        self.stop(pid)
            self.reap()

    def fork(self, name: str, child: Callable[[], None]) -> None:
        """Starts a process that becomes something, and never returns from that."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            child()
        with contextlib.suppress(OSError):  # whichever of the two comes first
            os.setpgid(pid, pid)
        self.running[pid] = name

    def obey(self, command: dict[str, Any]) -> None:
        if "start" in command:
            self.fork(command["start"], lambda: serve(self.server, command))
            return
        if "script" in command:
            self.fork(command["name"], lambda: run_script(command))
            return
        for pid, name in list(self.running.items()):
            if name == command["stop"]:
                self.stop(pid)

    def stop(self, pid: int) -> None:
        if pid not in self.killed_at:
            self.killed_at[pid] = time.monotonic() + STOP_SECONDS
            os.kill(pid, signal.SIGTERM)

    def reap(self) -> None:
        for pid in list(self.running):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                self.killed_at.pop(pid, None)
                end_rest(pid)
                cpu = round(usage.ru_utime + usage.ru_stime, 2)
                self.tell(ended=self.running.pop(pid), status=os.waitstatus_to_exitcode(status), cpu=cpu)
            elif self.killed_at.get(pid, time.monotonic() + 1) < time.monotonic():
                self.killed_at[pid] = time.monotonic() + STOP_SECONDS
                os.kill(pid, signal.SIGKILL)


def main() -> int:
    # Events have a descriptor of their own: whatever a module prints while it is imported must not mix with them.
    events = os.dup(1)
    os.set_inheritable(events, False)
    os.dup2(2, 1)
    # The log that a server writes by itself; its own environment may change it.
    os.environ |= {"LLAMA_STACK_LOGGING": "all=info", "OGX_LOGGING": "all=info"}
    server = server_package.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preload(server, Path(sys.argv[1]))
    stand_in_tokenizer()
    one_job_worker(server)
    if threading.active_count() > 1:
        print(f"boot: importing started threads, which do not survive a fork: {threading.enumerate()}", file=sys.stderr)
        return 2
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    Nursery(server, sys.stdin.buffer, events).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
