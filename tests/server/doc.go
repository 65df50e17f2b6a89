// SPDX-License-Identifier: Apache-2.0

// Package server lets the real servers of all release lines validate the configurations of this project: the embedded base configs,
// every golden config.yaml that the config engine's tests expect, and a config for every provider type of every release line.
//
// The server comes from its own package, in a virtual environment that venv.sh makes and caches. validate.py loads a config
// by the server's own code without starting it.
//
// Bases are validated by both sides: of every packaged configuration, and of the variants of starter in testdata/bases.yaml, the operator accepts those that the
// loader accepts, and refuses those that it refuses.
//
// Servers are booted too. Every sample and every user story (testdata/stories) goes through the code of operator and plugin, boots the
// server, and is compared with what the server then shows; chats go through it to doubles of the model servers that the resource names.
// boot.py imports a release once and forks a server for each, and for each script that uses the server's code. refused.tsv says which
// stories the operator refuses and with what words, not-booted.tsv which need something that is not here, and unbootable.tsv which
// providers of the bases do: these are taken out of a boot, never what a resource configures. Where the environment of the process
// matters, as for trust, metrics and external providers, a server is started by its command line, as an image does.
//
// Nothing here needs a cluster or an image, and nothing is skipped: a missing server is a failure.
//
// The releases are the rows of releases.tsv. Of the older patch releases in patches.tsv, the first one of each release line boots the bases. What is
// installed with each has its version and hashes in locks: lock.sh writes them.
//
// Environment: LLSD_SERVER_PYTHON_0_7 (or _0_7_1, the exact release) names the Python of a virtual environment that is there already,
// LLSD_CACHE the place of the cache, PYTHON the Python to build with. With LLSD_BOOT_EVERYTHING every story boots on every release; without
// it the core ones do, and all on the line of the pinned image and on the newest. Linux only: the doubles listen on addresses of loopback.
package server
