# SPDX-License-Identifier: Apache-2.0
"""Asks a model as a program of a user does, by the client openai: URL MODEL QUESTION

It prints the answer, "status N" where the server refuses, or "no connection". Whatever the host is, it connects to PROXY_PORT of this
machine: that stands for the DNS record of the host and for a load balancer.
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
