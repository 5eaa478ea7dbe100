"""What callers of a gateway see of LiteLLM's proxy and of llama.cpp's server behind it."""
import contextlib
import json
import pathlib
import tempfile

import openai

import servers
from fold import Folded
from ticket import QUESTION, TOOL_NAME, TOOLS
from ticket import Checks, envelope, expect, final_answer, result_of, the_call

SCRIPT = servers.ROOT / "fixtures/demo/support-ticket.toml"
CAMERA = {"title": "Camera", "priority": "high"}
SAID = "The line camera is misaligned."
MOCK_CALL = {"id": "call_of_the_mock", "type": "function",
             "function": {"name": TOOL_NAME, "arguments": json.dumps(CAMERA)}}
LITELLM_MODELS = {
    "plain": {"mock_response": SAID},
    # Its mock says `finish_reason: "stop"` beside the call, and streams no calls.
    "caller": {"mock_response": "One moment.", "mock_tool_calls": [MOCK_CALL]},
    "limited": {"mock_response": "litellm.RateLimitError"},
    "broken": {"mock_response": "litellm.InternalServerError"},
    "crowded": {"mock_response": "litellm.ContextWindowExceededError"},
    "cut": {"mock_response": "Exception: mock_streaming_error"},
}


def scripted():
    """A gateway whose model is a script: the model that LiteLLM passes requests to."""
    return f"""
[[upstreams]]
name = "demo"
script = {json.dumps(str(SCRIPT))}
[[agents]]
name = "desk"
upstream = "demo"
model = "desk"
"""


def front(litellm, llama):
    """The gateway under test: an agent for each model."""
    upstreams = [("litellm", litellm, servers.KEY, "openai"), ("locked", litellm, "sk-wrong", "openai"),
                 ("keyless", litellm, None, "openai"), ("llama", llama, None, "llamacpp")]
    agents = [(f"litellm.{model}", "litellm", model, []) for model in [*LITELLM_MODELS, "desk", "unheard-of"]]
    agents += [("litellm.locked", "locked", "plain", []), ("litellm.keyless", "keyless", "plain", []),
               ("llama.plain", "llama", "tiny", []), ("llama.clock", "llama", "tiny", ["clock"])]
    parts = ['[[services]]\nname = "clock"\nkind = "clock"\n']
    for name, base, key, dialect in upstreams:
        parts.append(f'[[upstreams]]\nname = "{name}"\nbase_url = "{base}"\ndialect = "{dialect}"\nretries = 0\n'
                     + (f'api_key = "{key}"\n' if key else ""))
    for name, upstream, model, services in agents:
        parts.append(f'[[agents]]\nname = "{name}"\nupstream = "{upstream}"\nmodel = "{model}"\n'
                     f"services = {json.dumps(services)}\n")
    return "\n".join(parts)


class Desk:
    """A caller of one agent."""

    def __init__(self, base, model):
        self.model = model
        self.client = openai.OpenAI(base_url=base, api_key="unused", max_retries=0, timeout=60)

    def whole(self, messages, **more):
        answer = self.client.chat.completions.create(model=self.model, messages=messages, **more)
        envelope(answer, "chat.completion", self.model)
        expect("total tokens", answer.usage.total_tokens,
               answer.usage.prompt_tokens + answer.usage.completion_tokens)
        choice = answer.choices[0]
        return choice.message.content, choice.message.tool_calls, choice.finish_reason, choice.message

    def streamed(self, messages, **more):
        folded = Folded(self.model)
        for chunk in self.client.chat.completions.create(
            model=self.model, messages=messages, stream=True, stream_options={"include_usage": True}, **more
        ):
            folded.add(chunk)
        folded.end(include_usage=True)
        return folded.text, folded.calls, folded.finish_reason, folded.message()


def says(ask, text):
    answer, calls, finish_reason, _ = ask([QUESTION])
    expect("text", answer, text)
    expect("calls", calls or [], [])
    expect("finish_reason", finish_reason, "stop")


def handed_back(ask, question=QUESTION, **more):
    _, calls, finish_reason, message = ask([question], tools=TOOLS, **more)
    return the_call(calls, finish_reason), message


def mock_call(ask):
    call, message = handed_back(ask)
    expect("id of the call", call.id, MOCK_CALL["id"])
    expect("arguments", json.loads(call.function.arguments), CAMERA)
    expect("text beside the call", message.content, "One moment.")


def ticket(ask, question=QUESTION):
    """The round trip; the script quotes the ticket, and the tiny model can only say that there is one."""
    call, message = handed_back(ask, question)
    text, calls, finish_reason, _ = ask([question, message, result_of(call)], tools=TOOLS)
    return call, text, calls, finish_reason


def scripted_ticket(ask):
    _, text, calls, finish_reason = ticket(ask)
    final_answer(text, calls, finish_reason)


def tiny_ticket(ask):
    call, text, calls, finish_reason = ticket(ask)
    expect("arguments", json.loads(call.function.arguments), CAMERA)
    expect("text", text, "I opened a ticket!")
    expect("end", (calls or [], finish_reason), ([], "stop"))


def after_a_hidden_round(ask):
    """The model asks the agent's clock first, which the caller does not see."""
    question = {"role": "user", "content": "The camera is misaligned; note what time it is."}
    call, text, calls, finish_reason = ticket(ask, question)
    # What was done unseen travels in the id.
    if len(call.id) < 100:
        raise AssertionError(f"the id {call.id!r} carries nothing")
    expect("text", text, "I opened a ticket!")
    expect("end", (calls or [], finish_reason), ([], "stop"))


def cut_short(ask):
    """The limit falls into the middle of the call: the caller must not get half of one."""
    text, calls, finish_reason, _ = ask([QUESTION], tools=TOOLS, max_tokens=5)
    expect("answer", (text or "", calls or [], finish_reason), ("", [], "length"))


def forced(ask):
    """The weights say another name; the server's grammar, which tool_choice sets, lets only this one."""
    parameters = {"type": "object", "properties": {"level": {"type": "string", "enum": ["low", "high"]}},
                  "required": ["level"], "additionalProperties": False}
    other = {"type": "function", "function": {"name": "set_priority", "parameters": parameters}}
    choice = {"type": "function", "function": {"name": "set_priority"}}
    _, calls, finish_reason, _ = ask([QUESTION], tools=[*TOOLS, other], tool_choice=choice)
    expect("calls and end", ([call.function.name for call in calls], finish_reason), (["set_priority"], "tool_calls"))
    arguments = json.loads(calls[0].function.arguments)
    expect("arguments", (list(arguments), arguments["level"] in ["low", "high"]), (["level"], True))


def refused(ask, kind, status, code, words):
    try:
        ask([QUESTION], tools=TOOLS)
    except openai.APIStatusError as error:
        expect("exception", type(error).__name__, kind.__name__)
        expect("status and code", (error.status_code, error.code), (status, code))
        expect("keys of the error", sorted(error.body), ["code", "message", "param", "type"])
        if words not in error.body["message"]:
            raise AssertionError(f"the message {error.body['message']!r} lacks {words!r}") from error
        if "127.0.0.1" in error.body["message"] or "sk-" in error.body["message"]:
            raise AssertionError(f"the message {error.body['message']!r} tells about the upstream") from error
    else:
        raise AssertionError("the request was not refused")


# agent, exception, status, code, words that the message needs
ERRORS = [
    ("limited", openai.RateLimitError, 429, "429", "mock rate limit error"),
    ("broken", openai.InternalServerError, 502, "upstream_error", "500"),
    ("crowded", openai.BadRequestError, 400, "400", "context window exceeded"),
    ("unheard-of", openai.BadRequestError, 400, "400", "unheard-of"),
    # Without a database it has no other answer for a key that it does not know, and none for no key.
    ("locked", openai.BadRequestError, 400, "400", "No connected db"),
    ("keyless", openai.InternalServerError, 502, "upstream_error", "500"),
    ("cut", openai.InternalServerError, 502, "upstream_error", "mid-stream"),
]


def both(checks, name, check, desk):
    checks.run(f"{name}, whole", lambda: check(desk.whole))
    checks.run(f"{name}, streamed", lambda: check(desk.streamed))


def litellm_checks(base):
    checks = Checks("litellm")
    both(checks, "plain text", lambda ask: says(ask, SAID), Desk(base, "litellm.plain"))
    checks.run("a call of its mock", lambda: mock_call(Desk(base, "litellm.caller").whole))
    both(checks, "round trip through it to a model", scripted_ticket, Desk(base, "litellm.desk"))
    for model, kind, status, code, words in ERRORS:
        both(checks, f"{model} is a {status} {code}",
             lambda ask: refused(ask, kind, status, code, words), Desk(base, f"litellm.{model}"))
    return checks


def llama_checks(base):
    checks = Checks("llama.cpp")
    desk = Desk(base, "llama.plain")
    both(checks, "plain text", lambda ask: says(ask, SAID), desk)
    both(checks, "round trip", tiny_ticket, desk)
    both(checks, "round trip after a hidden round", after_a_hidden_round, Desk(base, "llama.clock"))
    both(checks, "round with a function that tool_choice names", forced, desk)
    both(checks, "a call that max_tokens cuts short", cut_short, desk)
    return checks


def main():
    with contextlib.ExitStack() as running:
        folder = pathlib.Path(running.enter_context(tempfile.TemporaryDirectory()))
        script = running.enter_context(servers.gateway(folder, "scripted", scripted()))
        llama = running.enter_context(servers.llama(folder))
        models = {**LITELLM_MODELS, "desk": {"api_base": script}}
        litellm = running.enter_context(servers.litellm(folder, models))
        base = running.enter_context(servers.gateway(folder, "front", front(litellm, llama)))
        done = [litellm_checks(base), llama_checks(base)]
    passed, failed = sum(checks.passed for checks in done), sum(checks.failed for checks in done)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
