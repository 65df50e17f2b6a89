# SPDX-License-Identifier: Apache-2.0
"""Sends a chat completion by the client openai: URL MODEL QUESTION

It prints the reply, "status N" for an error, or "no connection". It connects every host to PROXY_PORT of this machine, which
replaces the DNS record of the host and a load balancer.
"""

import os
import socket
import sys

import openai

address = ("127.0.0.1", int(os.environ["PROXY_PORT"]))
socket.getaddrinfo = lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]
url, model, question = sys.argv[1:]
client = openai.OpenAI(base_url=f"{url}/v1", max_retries=0, timeout=60)
try:
    completion = client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
    print(completion.choices[0].message.content)
except openai.APIStatusError as error:
    print("status", error.status_code)
except openai.APIConnectionError:
    print("no connection")
