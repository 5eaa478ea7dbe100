"""Reads the bytes of a streamed answer on standard input, line by line, as the contract has them.

Prints the answer as if it had not been streamed: {"message": ..., "finish_reason": ...}. An SDK is
forgiving; this is not: anything beside the promised form ends it with the reason.
"""
import json
import sys


def events(raw):
    """The payloads of the `data:` lines; only those, comments and blank lines may occur."""
    for line in raw.decode("utf-8").split("\n"):
        if line.startswith("data: "):
            yield line[len("data: "):]
        elif line and not line.startswith(":"):
            sys.exit(f"neither data nor comment: {line!r}")


def fold(payloads):
    if not payloads or payloads[-1] != "[DONE]":
        sys.exit(f"the stream does not end with [DONE]: {payloads[-1:]}")
    chunks = [json.loads(payload) for payload in payloads[:-1]]
    if len({(c["id"], c["created"], c["model"]) for c in chunks}) != 1:
        sys.exit("the chunks differ in id, created or model")
    message, finish_reason = {"role": None, "content": "", "tool_calls": []}, None
    for chunk in chunks:
        if "usage" in chunk:
            sys.exit("a usage chunk that was not asked for")
        [choice] = chunk["choices"]
        if finish_reason:
            sys.exit(f"a chunk behind the one with finish_reason: {chunk}")
        delta, finish_reason = choice["delta"], choice["finish_reason"]
        if finish_reason and delta:
            sys.exit(f"the chunk with finish_reason holds more than that: {chunk}")
        message["role"] = message["role"] or delta.get("role")
        message["content"] += delta.get("content") or ""
        add_calls(message["tool_calls"], delta.get("tool_calls") or [])
    message["content"] = message["content"] or None
    if not message["tool_calls"]:
        del message["tool_calls"]
    return {"message": message, "finish_reason": finish_reason}


def add_calls(calls, deltas):
    """Each call comes whole and alone in its chunk; some clients lose or misread anything else."""
    if len(deltas) > 1:
        sys.exit(f"{len(deltas)} calls in one chunk")
    for call in deltas:
        if call.pop("index") != len(calls):
            sys.exit(f"the indices of the calls are not 0, 1, 2, ...: {deltas}")
        json.loads(call["function"]["arguments"])
        calls.append(call)


print(json.dumps(fold(list(events(sys.stdin.buffer.read())))))
