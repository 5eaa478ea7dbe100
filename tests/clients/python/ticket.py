"""What the Python clients share: the support-ticket conversation, and how a check reports.

A script is called with the base URL (".../v1"). Each check prints one line, `ok NAME` or
`FAIL NAME: why`, and the script ends non-zero if one of them failed.
"""
import json
import os
import sys

MODEL = "support-ticket.agent.support-ticket-agent"
QUESTION = {"role": "user", "content": "The packaging line camera is misaligned."}
TOOL_NAME = "create_service_ticket"
PRIORITIES = ["low", "medium", "high"]
TOOLS = [{
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Create a support ticket in the customer service system.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "priority": {"type": "string", "enum": PRIORITIES},
            },
            "required": ["title", "priority"],
        },
    },
}]
TICKET_ID = "INC-2026-001"


def settings():
    """Arguments for any of the SDK's clients. No retries: a second try would hide a failure."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} BASE_URL")
    key = os.environ.get("HANDBACK_API_KEY", "unused")
    return {"base_url": sys.argv[1], "api_key": key, "max_retries": 0, "timeout": 30}


def expect(what, actual, wanted):
    if actual != wanted:
        raise AssertionError(f"{what} is {actual!r}, expected {wanted!r}")


def the_call(calls, finish_reason):
    """The one call of the handback, after a look at all that a caller relies on before it runs it."""
    expect("finish_reason of the handback", finish_reason, "tool_calls")
    expect("number of calls", len(calls or []), 1)
    call = calls[0]
    expect("type of the call", call.type, "function")
    expect("name of the call", call.function.name, TOOL_NAME)
    if not call.id:
        raise AssertionError("the call has no id")
    arguments = json.loads(call.function.arguments)
    expect("argument names", sorted(arguments), ["priority", "title"])
    if not (isinstance(arguments["title"], str) and arguments["title"]):
        raise AssertionError(f"title is {arguments['title']!r}, expected a text")
    if arguments["priority"] not in PRIORITIES:
        raise AssertionError(f"priority is {arguments['priority']!r}, expected one of {PRIORITIES}")
    return call


def result_of(call):
    """The tool message that answers the call."""
    content = json.dumps({"ticket_id": TICKET_ID, "status": "created"})
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def final_answer(text, calls, finish_reason):
    """The end of the turn: nothing more is handed back, and the text quotes the result."""
    expect("finish_reason of the answer", finish_reason, "stop")
    expect("calls of the answer", calls or [], [])
    if TICKET_ID not in (text or ""):
        raise AssertionError(f"the final text {text!r} does not quote {TICKET_ID}")


def envelope(answer, kind, model=MODEL):
    """The fields around the choices that every answer and every chunk bears."""
    expect("object", answer.object, kind)
    expect("model", answer.model, model)
    if not (answer.id and answer.created):
        raise AssertionError(f"id {answer.id!r} or created {answer.created!r} is missing")


class Checks:
    def __init__(self, client):
        self.client = client
        self.passed = self.failed = 0

    def run(self, name, check):
        try:
            check()
        except Exception as error:  # a failed check must not keep the others from running
            self.failed += 1
            why = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {self.client}: {name}: {why[:500]}", flush=True)
        else:
            self.passed += 1
            print(f"ok {self.client}: {name}", flush=True)

    def end(self):
        sys.exit(1 if self.failed else 0)
