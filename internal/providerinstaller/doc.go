// SPDX-License-Identifier: Apache-2.0

// Package providerinstaller installs the Python packages of a provider's image into a directory that the server of the
// same pod reads.
//
// Contract: it runs in the init containers of a pod, as the user of the pod, with nothing but its own program: images
// need no shell and no Python. Prepare empties the directory and puts the program there, for the containers of the
// providers' images. Install unpacks the wheels of one provider: each file of a wheel has a place below
// Layout.Packages, or is refused. No code of a provider runs. It writes nothing that a wheel does not have, apart from
// a Manifest for each provider, by which the next ones, and the check in the server's image, know what lies there. Two
// versions of one distribution, and two files with one path that differ, are refused, and the error names both sides.
// Numbers and sizes of wheels and files are bounded. An install that was interrupted can be repeated.
//
// It resolves no dependencies, downloads nothing, and does not know what the server's image has: that is the check's
// part, in internal/reconcile/objects.
package providerinstaller
