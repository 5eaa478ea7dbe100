"""openai (Python) in the scenarios of ../model.py: two calls at once, and errors of every kind."""
import json

import openai

from fold import Folded
from ticket import QUESTION, TOOLS
from ticket import Checks, envelope, expect, settings

client = openai.OpenAI(**settings())

HARD = 'Büro „3“ – 打印机 🖨️ "q" \\ back\nline \\u00e9 </tool>'
PAIR = [{"title": HARD, "priority": "high"}, {"title": "Printer jams", "priority": "low"}]

# What a status of the upstream is to a caller: the exception, the status, the code.
STATUSES = {
    400: (openai.BadRequestError, 400, "code_400"),
    401: (openai.InternalServerError, 502, "upstream_auth"),
    403: (openai.InternalServerError, 502, "upstream_auth"),
    404: (openai.NotFoundError, 404, "code_404"),
    408: (openai.InternalServerError, 502, "upstream_error"),
    413: (openai.APIStatusError, 413, "code_413"),
    422: (openai.UnprocessableEntityError, 422, "code_422"),
    429: (openai.RateLimitError, 429, "code_429"),
    500: (openai.InternalServerError, 502, "upstream_error"),
    502: (openai.InternalServerError, 502, "upstream_error"),
    503: (openai.InternalServerError, 502, "upstream_error"),
}


def whole(model, messages):
    answer = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    envelope(answer, "chat.completion", model)
    choice = answer.choices[0]
    return choice.message.content, choice.message.tool_calls, choice.finish_reason, choice.message


def streamed(model, messages):
    folded = Folded(model)
    for chunk in client.chat.completions.create(model=model, messages=messages, tools=TOOLS, stream=True):
        folded.add(chunk)
    folded.end(include_usage=False)
    return folded.text, folded.calls, folded.finish_reason, folded.message()


def pair(ask):
    _, calls, finish_reason, message = ask("pair", [QUESTION])
    expect("finish_reason", finish_reason, "tool_calls")
    expect("arguments", [json.loads(call.function.arguments) for call in calls], PAIR)
    expect("number of different ids", len({call.id for call in calls}), 2)
    # The results in the other order: each belongs to its id.
    results = [{"role": "tool", "tool_call_id": call.id, "content": json.dumps({"ticket_id": f"INC-{at}"})}
               for at, call in enumerate(calls)]
    text, calls, finish_reason, _ = ask("pair", [QUESTION, message, *reversed(results)])
    expect("answer", (text, calls or [], finish_reason), ("Done: INC-0 and INC-1", [], "stop"))


def refused(ask, upstream):
    kind, status, code = STATUSES[upstream]
    try:
        ask(f"status-{upstream}", [QUESTION])
    except openai.APIStatusError as error:
        expect("exception", type(error), kind)
        expect("status and code", (error.status_code, error.code), (status, code))
        expect("keys of the error", sorted(error.body), ["code", "message", "param", "type"])
        expect("retry-after", error.response.headers.get("retry-after"), "7" if upstream == 429 else None)
        if status != 502:
            expect("message", error.body["message"], f"the model says {upstream}")
        elif str(upstream) not in error.body["message"]:
            raise AssertionError(f"the message {error.body['message']!r} lacks the upstream's status") from error
    else:
        raise AssertionError("no exception")


def broken_whole(model):
    try:
        whole(model, [QUESTION])
    except openai.InternalServerError as error:
        expect("status and code", (error.status_code, error.code), (502, "upstream_error"))
    else:
        raise AssertionError("no exception")


def broken_streamed(model):
    """The text that was sent arrives, then an exception: never an end that looks like the answer's."""
    folded = Folded(model)
    try:
        for chunk in client.chat.completions.create(model=model, messages=[QUESTION], stream=True):
            folded.add(chunk)
    except openai.APIError as error:
        expect("exception", type(error), openai.APIError)
        expect("code", error.code, "upstream_error")
        expect("text and end", (folded.text, folded.finish_reason), ("The first half", None))
    else:
        raise AssertionError(f"the stream ended with {folded.finish_reason!r}")


checks = Checks("openai-python scenarios")
checks.run("two calls with hard arguments, whole", lambda: pair(whole))
checks.run("two calls with hard arguments, streamed", lambda: pair(streamed))
for upstream in STATUSES:
    checks.run(f"status {upstream} of the upstream, whole", lambda: refused(whole, upstream))
    checks.run(f"status {upstream} of the upstream, streamed", lambda: refused(streamed, upstream))
for model in ["broken", "cut"]:
    checks.run(f"an answer that is {model}, whole", lambda: broken_whole(model))
    checks.run(f"an answer that is {model}, streamed", lambda: broken_streamed(model))
checks.end()
