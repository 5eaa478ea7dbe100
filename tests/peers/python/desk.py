"""A server written with the Python SDK: `desk.py stdio`, or `desk.py http PORT`."""

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("desk", log_level="WARNING")


class Ticket(BaseModel):
    number: int
    title: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def find_ticket(number: int) -> Ticket:
    """Finds a ticket."""
    return Ticket(number=number, title="Paper jam")


@server.tool(name="tickets.close")
async def close(number: int, ctx: Context) -> str:
    """Closes a ticket."""
    await ctx.report_progress(0.5, 1)
    if number == 0:
        raise ValueError("there is no ticket 0")
    return f"closed {number}"


@server.tool()
def pid() -> str:
    """The process of the server."""
    return str(os.getpid())


if sys.argv[1] == "http":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
