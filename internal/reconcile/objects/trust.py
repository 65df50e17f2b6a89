# SPDX-License-Identifier: Apache-2.0
"""Writes one file with the CA certificates that this image trusts by itself, and those of a bundle: BUNDLE TARGET.

Clients read one file or directory each, so a bundle of its own would take the place of the roots of the image. Where those are, only the image
knows: in the package certifi, in the files of OpenSSL, in what gRPC brings, or in what a variable names.
"""

import importlib.util
import os
import re
import ssl
import sys

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "AWS_CA_BUNDLE")
BLOCK = re.compile(r"-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----(.*?)-----END \1-----", re.DOTALL)


def files():
    try:
        import certifi

        yield certifi.where()
    except ImportError:
        pass
    openssl = ssl.get_default_verify_paths()
    yield openssl.cafile
    for directory in (openssl.capath or "").split(os.pathsep):
        if os.path.isdir(directory):
            # The names by which OpenSSL finds a certificate there.
            yield from (os.path.join(directory, name) for name in sorted(os.listdir(directory)) if re.fullmatch(r"[0-9a-f]{8}\.\d+", name))
    grpc = importlib.util.find_spec("grpc")
    for directory in (grpc and grpc.submodule_search_locations) or ():
        yield os.path.join(directory, "_cython", "_credentials", "roots.pem")
    yield from (os.environ.get(variable) for variable in VARIABLES)


def certificates(path):
    with open(path, encoding="latin-1") as file:
        return {"".join(body.split()): f"-----BEGIN {kind}-----{body}-----END {kind}-----\n" for kind, body in BLOCK.findall(file.read())}


bundle, target = sys.argv[1:]
trusted = {}
for path in files():
    if path and os.path.isfile(path):
        trusted.update(certificates(path))
own = len(trusted)
trusted.update(certificates(bundle))
with open(target, "w", encoding="latin-1") as file:
    file.writelines(trusted.values())
print(f"{own} CA certificates of the image, {len(trusted) - own} more of the bundle")
