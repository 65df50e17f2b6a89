# SPDX-License-Identifier: Apache-2.0
"""Calls a server by the clients openai and llama-stack-client (ogx-client for OGX): URL MODEL EMBEDDING_MODEL DIMENSION SHIELD

It prints one line for each client and call, separated by tabs: CLIENT, THING, and "ok", "status N" for an error of the server,
"no such API" if the client lacks it, or another error. The calls are independent, with their own files and stores.
"""

import io
import sys
import time

import openai

try:
    from ogx_client import OgxClient as StackClient

    stack_client = "ogx-client"
except ImportError:
    from llama_stack_client import LlamaStackClient as StackClient

    stack_client = "llama-stack-client"

url, model, embedding_model, dimension, shield = sys.argv[1:]
name = model.rpartition("/")[2]
fact = "The library closes at noon on Saturdays."
question = "When does the library close?"
user = [{"role": "user", "content": question}]
heard = f"{name} heard: "


def same(got, want):
    """Raises an error unless two values are equal."""
    if got != want:
        raise AssertionError(f"{got!r}, want {want!r}")


def contains(text, part):
    """Raises an error unless a text contains another."""
    if part not in text:
        raise AssertionError(f"{text!r} does not contain {part!r}")


def text_of(response):
    """Returns the text of all messages of a response."""
    contents = [c for item in response.output if item.type == "message" for c in plain(item).content]
    return "".join(plain(c).text for c in contents)


def plain(value):
    """Returns the value in a generated client's wrapper of several types."""
    return getattr(value, "actual_instance", None) or value


def chat(client):
    """A chat completion."""
    same(client.chat.completions.create(model=model, messages=user).choices[0].message.content, heard + question)


def streaming(client):
    """A chat completion in chunks."""
    chunks = [c.choices[0].delta.content for c in client.chat.completions.create(model=model, messages=user, stream=True) if c.choices]
    parts = [c for c in chunks if c]
    same("".join(parts), heard + question)
    if len(parts) < 2:
        raise AssertionError(f"it came in one piece: {parts}")


def responses(client):
    """A response, and one that continues it."""
    first = client.responses.create(model=model, input=question)
    contains(text_of(first), question)
    contains(text_of(client.responses.create(model=model, input="And on Sundays?", previous_response_id=first.id)), "And on Sundays?")
    same(client.responses.retrieve(first.id).id, first.id)


def conversations(client):
    """A conversation, which stores its items."""
    conversation = client.conversations.create(metadata={"about": "hours"})
    contains(text_of(client.responses.create(model=model, input=question, conversation=conversation.id)), question)
    contains(str(client.conversations.items.list(conversation.id)), question)
    client.conversations.delete(conversation.id)


def upload(client, content):
    """A new file."""
    if isinstance(client, openai.OpenAI) or stack_client == "llama-stack-client":
        return client.files.create(file=("hours.txt", io.BytesIO(content.encode()), "text/plain"), purpose="assistants")
    return client.files.create(file=("hours.txt", content.encode()), purpose="assistants")


def files(client):
    """A file that is stored, listed, read and deleted."""
    file = upload(client, fact)
    contains([f.id for f in client.files.list().data], file.id)
    content = client.files.content(file.id)
    contains(content if isinstance(content, str) else getattr(content, "text", None) or content.read().decode(), fact)
    client.files.delete(file.id)


def vector_store(client):
    """A file in a vector store: found by a search, and by a response with file search."""
    extra = {"embedding_model": embedding_model, "embedding_dimension": int(dimension)}
    if isinstance(client, openai.OpenAI) or stack_client == "llama-stack-client":
        extra = {"extra_body": extra}
    store = client.vector_stores.create(name="hours", **extra)
    file = client.vector_stores.files.create(vector_store_id=store.id, file_id=upload(client, fact).id)
    until = time.monotonic() + 60
    while file.status == "in_progress" and time.monotonic() < until:
        time.sleep(0.2)
        file = client.vector_stores.files.retrieve(vector_store_id=store.id, file_id=file.id)
    if file.status != "completed":
        raise AssertionError(f"the file is {file.status}: {file.last_error}")
    # Another text, because the score of the same one would be infinite, which JSON cannot represent.
    contains(str(client.vector_stores.search(store.id, query=question).data), fact)
    tool = {"type": "file_search", "vector_store_ids": [store.id]}
    contains(text_of(client.responses.create(model=model, input=question, tools=[tool])), fact)
    client.vector_stores.delete(store.id)


def prompts(client):
    """A prompt, its next version, and a response that uses it."""
    prompt = client.prompts.create(prompt="Say {{ word }}.", variables=["word"])
    same(client.prompts.retrieve(prompt.prompt_id).prompt, "Say {{ word }}.")
    same(client.prompts.update(prompt.prompt_id, prompt="Shout {{ word }}.", variables=["word"], version=prompt.version).version, 2)
    client.prompts.delete(prompt.prompt_id)


def moderation(client):
    """A harmless and a harmful text."""
    for text, flagged in ((question, False), ("something forbidden", True)):
        same(client.moderations.create(input=text, model=shield).results[0].flagged, flagged)


def outcome(thing, client):
    """Returns the result of a call."""
    try:
        thing(client)
    except AttributeError as error:
        return "no such API" if thing.__name__ in str(error) else f"AttributeError: {error}"
    except Exception as error:  # all errors are results
        status = getattr(error, "status_code", None) or getattr(error, "status", None)
        return f"status {status}" if status in (404, 405, 501) else f"{type(error).__name__}: {error}"
    return "ok"


things = (chat, streaming, responses, conversations, files, vector_store, prompts, moderation)
clients = {
    "openai": openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=60),
    stack_client: StackClient(base_url=url),
}
for client_name, used in clients.items():
    for each in things:
        result = " ".join(outcome(each, used).split())
        print(client_name, each.__name__.replace("_", " "), result, sep="\t", flush=True)
