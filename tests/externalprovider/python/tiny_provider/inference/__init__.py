# SPDX-License-Identifier: Apache-2.0
"""Inference without a model: an answer is the greeting of the config and the last message."""

import time
from typing import Any

from pydantic import BaseModel

from tiny_provider import server_api


class TinyConfig(BaseModel):
    """The config of the provider."""

    greeting: str = "tiny"
    base_url: str = ""
    api_token: str = ""
    client_secret: str = ""


class TinyInference:
    """Answers chats without a model."""

    model_store = None

    def __init__(self, config: TinyConfig) -> None:
        self.config = config

    async def initialize(self) -> None:
        """Does nothing."""

    async def shutdown(self) -> None:
        """Does nothing."""

    async def register_model(self, model: Any) -> Any:
        """Accepts every model."""
        return model

    async def unregister_model(self, model_id: str) -> None:
        """Does nothing."""

    async def list_models(self) -> None:
        """Has no models of its own."""

    async def should_refresh_models(self) -> bool:
        """Never has new models."""
        return False

    async def openai_chat_completion(self, params: Any) -> Any:
        """Answers a chat. The answer says whether the config has a key."""
        key = "with a key" if self.config.api_token else "without a key"
        text = f"{self.config.greeting} ({self.config.base_url or 'nowhere'}, {key}): {params.messages[-1].content}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        answer = {"id": "tiny-1", "object": "chat.completion", "created": int(time.time()), "model": params.model}
        return server_api.find(server_api.INFERENCE, "OpenAIChatCompletion").model_validate(answer | {"choices": [choice]})

    async def openai_chat_completions_with_reasoning(self, params: Any) -> Any:
        """Is not supported."""
        raise NotImplementedError

    async def openai_completion(self, params: Any) -> Any:
        """Is not supported."""
        raise NotImplementedError

    async def openai_embeddings(self, params: Any) -> Any:
        """Is not supported."""
        raise NotImplementedError


async def get_adapter_impl(config: TinyConfig, deps: Any, *more: Any) -> TinyInference:
    """The server calls this for each entry with the type."""
    return TinyInference(config)
