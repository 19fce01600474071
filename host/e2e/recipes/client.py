# Copyright The Toolwharf Authors
# SPDX-License-Identifier: Apache-2.0

"""Does with one client what is asked on stdin: client.mjs, of the clients in Python.

python client.py <client> <url> <token>
"""

import asyncio
import contextlib
import json
import sys

name, url, token = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}"}


def text_of(result):
    return "".join(block.text for block in result.content)


@contextlib.asynccontextmanager
async def official():
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers=headers)
    async with Client(streamable_http_client(url, http_client=http)) as client:

        async def call(tool, arguments, meta):
            result = await client.call_tool(tool, arguments, meta=meta)
            return {"text": text_of(result), "isError": result.is_error, "meta": result.meta}

        yield client.list_tools, call


@contextlib.asynccontextmanager
async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    async with Client(StreamableHttpTransport(url, headers=headers)) as client:

        async def call(tool, arguments, meta):
            result = await client.call_tool(tool, arguments, raise_on_error=False, meta=meta)
            return {"text": text_of(result), "isError": result.is_error, "meta": result.meta}

        yield client.list_tools, call


async def main():
    async with {"python": official, "fastmcp": fastmcp}[name]() as (list_tools, call):
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            try:
                if "name" in asked:
                    answer = await call(asked["name"], asked["arguments"], asked.get("meta"))
                else:
                    listed = await list_tools()
                    answer = {"tools": [tool.name for tool in getattr(listed, "tools", listed)]}
            except Exception as error:
                answer = {"thrown": str(error)}
            print(json.dumps(answer), flush=True)


asyncio.run(main())
