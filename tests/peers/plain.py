"""An MCP server over standard input and output, without any library."""

import json
import os
import signal
import subprocess
import sys


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def call(params):
    name = params["name"]
    if name == "echo":
        echo = json.dumps(params["arguments"], ensure_ascii=False)
        return text(f"{echo} {params['_meta']['idempotencyKey']}")
    if name == "environment":
        return text(" ".join(sorted(os.environ)))
    if name == "noise":
        sys.stderr.write("x" * 300_000 + "\n")
        sys.stdout.write("this is no message\n\n")
        return text("quiet")
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "child":
        return text(str(subprocess.Popen(["sleep", "600"]).pid))
    if name == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        answer(text(str(os.getpid())))
        while True:
            signal.pause()
    return text(str(os.getpid()))


def answer(result):
    message = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


TOOLS = ["echo", "environment", "noise", "die", "child", "stubborn", "pid"]

sys.stdin.reconfigure(encoding="utf-8")
sys.stdout.reconfigure(encoding="utf-8")
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        answer(
            {
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        )
    elif method == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer({"tools": [{"name": name, "inputSchema": schema} for name in TOOLS]})
    elif method == "tools/call":
        answer(call(asked["params"]))
    elif "id" in asked and method is not None:
        answer({})
