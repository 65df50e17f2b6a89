# SPDX-License-Identifier: Apache-2.0
"""Calls TLS servers with the client libraries of providers: NAME=HOST:PORT ...

It prints a JSON object with the result of each installed library for each server: trusted, refused, or another error.
"""

import asyncio
import importlib.util
import json
import sys
import urllib.request

SECONDS = 20


def with_urllib(address):
    urllib.request.urlopen(f"https://{address}/", timeout=SECONDS).close()


def with_httpx(address):
    import httpx

    with httpx.Client(timeout=SECONDS) as client:
        client.get(f"https://{address}/")


def with_requests(address):
    import requests

    requests.get(f"https://{address}/", timeout=SECONDS)


def with_openai(address):
    import openai

    openai.OpenAI(base_url=f"https://{address}/v1", api_key="none", max_retries=0, timeout=SECONDS).models.list()


def with_aiohttp(address):
    import aiohttp

    async def call():
        async with aiohttp.ClientSession() as session, session.get(f"https://{address}/"):
            pass

    asyncio.run(call())


def with_grpc(address):
    import grpc

    with grpc.secure_channel(address, grpc.ssl_channel_credentials()) as channel:
        grpc.channel_ready_future(channel).result(timeout=SECONDS / 4)


LIBRARIES = {"urllib": with_urllib, "httpx": with_httpx, "requests": with_requests, "openai": with_openai, "aiohttp": with_aiohttp, "grpc": with_grpc}


def outcome(call, address):
    try:
        call(address)
        return "trusted"
    except Exception as error:
        causes, last = [], error
        while last is not None and last not in causes:
            causes.append(last)
            last = last.__cause__ or last.__context__
        text = " | ".join(map(repr, causes))
        # gRPC retries until the timeout, and reports the reason only in its log.
        return "refused" if "CERTIFICATE_VERIFY_FAILED" in text or "FutureTimeoutError" in text else text


servers = dict(argument.split("=", 1) for argument in sys.argv[1:])
print(
    json.dumps(
        {
            library: {name: outcome(call, address) for name, address in servers.items()}
            for library, call in LIBRARIES.items()
            if importlib.util.find_spec(library)
        }
    )
)
