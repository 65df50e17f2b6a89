# SPDX-License-Identifier: Apache-2.0
"""A tool runtime with one tool, which reverses text."""

from typing import Any

from pydantic import BaseModel

from tiny_provider import server_api


class TinyToolsConfig(BaseModel):
    """The config of the provider."""

    prefix: str = ""


class TinyTools:
    """Has one tool."""

    tool_store = None

    def __init__(self, config: TinyToolsConfig) -> None:
        self.config = config

    async def initialize(self) -> None:
        """Does nothing."""

    async def shutdown(self) -> None:
        """Does nothing."""

    async def register_toolgroup(self, toolgroup: Any) -> None:
        """Accepts every tool group."""

    async def unregister_toolgroup(self, toolgroup_id: str) -> None:
        """Does nothing."""

    async def list_runtime_tools(self, tool_group_id: Any = None, mcp_endpoint: Any = None, authorization: Any = None) -> Any:
        """Lists the tool."""
        tool = {"name": "reverse", "description": "Reverses a text.", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
        return server_api.find(server_api.TOOLS, "ListToolDefsResponse").model_validate({"data": [tool]})

    async def invoke_tool(self, tool_name: str, kwargs: dict[str, Any], authorization: Any = None) -> Any:
        """Reverses the text."""
        content = self.config.prefix + str(kwargs.get("text", ""))[::-1]
        return server_api.find(server_api.TOOLS, "ToolInvocationResult").model_validate({"content": content})


async def get_provider_impl(config: TinyToolsConfig, deps: Any, *more: Any) -> TinyTools:
    """The server calls this for each entry with the type."""
    return TinyTools(config)
