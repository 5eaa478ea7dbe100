"""openai (Python): what is refused arrives as the SDK's own exception, with a message to act on."""
import openai

from ticket import MODEL, QUESTION, TOOLS
from ticket import Checks, expect, result_of, settings, the_call

client = openai.OpenAI(**settings())


def refused(kind, code, words, **request):
    """Sends the request and looks at the error: its class, its fields, and words its message needs.

    A refused tool_choice is named in `param`; OpenAI itself leaves it null for an unknown model."""
    request = {"model": MODEL, "messages": [QUESTION], "tools": TOOLS, **request}
    try:
        answer = client.chat.completions.create(**request)
        for _ in answer if request.get("stream") else []:
            pass
    except openai.APIStatusError as error:
        expect("exception", type(error).__name__, kind.__name__)
        expect("code", error.code, code)
        if "tool_choice" in request:
            expect("param", error.param, "tool_choice")
        expect("keys of the error", sorted(error.body), ["code", "message", "param", "type"])
        missing = [word for word in words if word not in error.body["message"]]
        if missing:
            raise AssertionError(f"the message {error.body['message']!r} lacks {missing}")
        if not error.request_id:
            raise AssertionError("the answer has no x-request-id")
    else:
        raise AssertionError("the request was not refused")


def tool_choice(value, **more):
    # The message names the value that was sent and spells out the form to send instead.
    words = [value, '"type"', '"function"', '"name"']
    refused(openai.BadRequestError, "unsupported_tool_choice", words, tool_choice=value, **more)


def unknown_function():
    choice = {"type": "function", "function": {"name": "no_such_function"}}
    refused(openai.BadRequestError, "tool_choice_unknown_function", ["no_such_function"], tool_choice=choice)


def unknown_model():
    refused(openai.NotFoundError, "model_not_found", ["no.such.agent"], model="no.such.agent")


def unknown_model_by_name():
    try:
        client.models.retrieve("no.such.agent")
    except openai.NotFoundError as error:
        expect("code", error.code, "model_not_found")
    else:
        raise AssertionError("the name was found")


def stray_result():
    answer = client.chat.completions.create(model=MODEL, messages=[QUESTION], tools=TOOLS)
    message = answer.choices[0].message
    call = the_call(message.tool_calls, answer.choices[0].finish_reason)
    stray = {"role": "tool", "tool_call_id": "call_nobody_made", "content": "{}"}
    try:
        client.chat.completions.create(model=MODEL, messages=[QUESTION, message, result_of(call), stray], tools=TOOLS)
    except openai.BadRequestError as error:
        expect("code", error.code, "unknown_tool_call_id")
    else:
        raise AssertionError("the result of a call that nobody made was taken")


checks = Checks("openai-python errors")
for value in ["auto", "required", "none"]:
    checks.run(f'tool_choice "{value}" is a BadRequestError', lambda: tool_choice(value))
checks.run('tool_choice "auto", streamed, is a BadRequestError', lambda: tool_choice("auto", stream=True))
checks.run("tool_choice of an unknown function is a BadRequestError", unknown_function)
checks.run("an unknown model is a NotFoundError", unknown_model)
checks.run("models.retrieve() of an unknown model is a NotFoundError", unknown_model_by_name)
checks.run("the result of a call that nobody made is a BadRequestError", stray_result)
checks.end()
