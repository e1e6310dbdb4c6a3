"""The official SDK of the Model Context Protocol for Python, unchanged, with and without sessions."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = os.environ["BASE_URL"] + "/mcp"
HEADERS = {"authorization": "Bearer " + os.environ["API_KEY"]}
checks = 0


def check(condition, message):
    global checks
    assert condition, message
    checks += 1


async def use(mode, name):
    async with httpx2.AsyncClient(headers=HEADERS, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            listed = (await client.list_tools()).tools
            check([tool.name for tool in listed] == ["srv__echo", "srv__steps"], listed)
            seen = []

            async def progress(done, total, message):
                seen.append(done)

            result = await client.call_tool("srv__steps", {}, progress_callback=progress)
            check(result.content[0].text == "done" and seen == [1, 2], (result, seen))
            meta = {"x-svc-request-id": name}
            first = await client.call_tool("srv__echo", {"a": 1}, meta=meta)
            again = await client.call_tool("srv__echo", {"a": 1}, meta=meta)
            check(first.content[0].text == again.content[0].text == '{"a":1}', (first, again))
            prompt = await client.get_prompt("srv__greet")
            check(prompt.messages[0].content.text == "Hello", prompt)
            resources = (await client.list_resources()).resources
            read = await client.read_resource(resources[0].uri)
            check(read.contents[0].text == "A", read)
            return client.protocol_version


async def main():
    check(await use("legacy", "python-1") != "2026-07-28", "a version with sessions")
    check(await use("auto", "python-2") == "2026-07-28", "the version without sessions")
    print(f"{checks} checks")


asyncio.run(main())
