// SPDX-License-Identifier: Apache-2.0

// Package server lets the real servers of all release lines judge the configurations of this project: the embedded base configs,
// every golden config.yaml that the config engine's tests expect, and a config for every provider type of every line.
//
// The server comes from its own package, in a virtual environment that venv.sh makes and caches. judge.py loads a config
// by the server's own code without starting it; one test starts the server and sends a request through it to a double of
// the model server. Nothing here needs a cluster or an image, and nothing is skipped: a missing server is a failure.
//
// The releases are the rows of releases.tsv.
//
// Environment: LLSD_SERVER_PYTHON_0_7 (or _0_7_1, the exact release) names the Python of a virtual environment that is there already,
// LLSD_CACHE the place of the cache, PYTHON the Python to build with.
package server
