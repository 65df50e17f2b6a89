# SPDX-License-Identifier: Apache-2.0
"""Inference without a model: the answer is the greeting of the config, and the last message."""

import time
from typing import Any

from pydantic import BaseModel

from tiny_provider import server_api


class TinyConfig(BaseModel):
    """What the config of the provider may say."""

    greeting: str = "tiny"
    base_url: str = ""
    api_token: str = ""
    client_secret: str = ""


class TinyInference:
    """Answers every chat itself."""

    model_store = None

    def __init__(self, config: TinyConfig) -> None:
        self.config = config

    async def initialize(self) -> None:
        """There is nothing to prepare."""

    async def shutdown(self) -> None:
        """There is nothing to end."""

    async def register_model(self, model: Any) -> Any:
        """Takes every model."""
        return model

    async def unregister_model(self, model_id: str) -> None:
        """Forgets no model, because it knows none."""

    async def list_models(self) -> None:
        """Brings no models."""

    async def should_refresh_models(self) -> bool:
        """Tells that there never are other models."""
        return False

    async def openai_chat_completion(self, params: Any) -> Any:
        """Answers one chat; whether a key is there, but not which, is part of the answer."""
        key = "with a key" if self.config.api_token else "without a key"
        text = f"{self.config.greeting} ({self.config.base_url or 'nowhere'}, {key}): {params.messages[-1].content}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        answer = {"id": "tiny-1", "object": "chat.completion", "created": int(time.time()), "model": params.model}
        return server_api.find(server_api.INFERENCE, "OpenAIChatCompletion").model_validate(answer | {"choices": [choice]})

    async def openai_chat_completions_with_reasoning(self, params: Any) -> Any:
        """Does not think."""
        raise NotImplementedError

    async def openai_completion(self, params: Any) -> Any:
        """Chats only."""
        raise NotImplementedError

    async def openai_embeddings(self, params: Any) -> Any:
        """Chats only."""
        raise NotImplementedError


async def get_adapter_impl(config: TinyConfig, deps: Any, *more: Any) -> TinyInference:
    """The server calls this for each entry with the type."""
    return TinyInference(config)
