"""openai (Python), synchronous client: the loop written by hand, and the model list."""
from openai import OpenAI

from fold import Folded
from ticket import MODEL, QUESTION, TOOLS, TOOL_NAME
from ticket import Checks, envelope, expect, final_answer, result_of, settings, the_call

client = OpenAI(**settings())


def ask(messages, **more):
    answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, **more)
    envelope(answer, "chat.completion")
    usage = answer.usage
    expect("total tokens", usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
    return answer.choices[0]


def ask_streamed(messages, **more):
    folded = Folded()
    for chunk in client.chat.completions.create(
        model=MODEL, messages=messages, tools=TOOLS, stream=True, **more
    ):
        folded.add(chunk)
    return folded.end(include_usage="stream_options" in more)


def whole():
    choice = ask([QUESTION])
    call = the_call(choice.message.tool_calls, choice.finish_reason)
    # The message goes back as the SDK's own object, with every field that the SDK knows.
    choice = ask([QUESTION, choice.message, result_of(call)])
    final_answer(choice.message.content, choice.message.tool_calls, choice.finish_reason)


def streamed(**more):
    answer = ask_streamed([QUESTION], **more)
    call = the_call(answer.calls, answer.finish_reason)
    answer = ask_streamed([QUESTION, answer.message(), result_of(call)], **more)
    final_answer(answer.text, answer.calls, answer.finish_reason)


def forced():
    named = {"type": "function", "function": {"name": TOOL_NAME}}
    choice = ask([QUESTION], tool_choice=named)
    call = the_call(choice.message.tool_calls, choice.finish_reason)
    choice = ask([QUESTION, choice.message, result_of(call)])
    final_answer(choice.message.content, choice.message.tool_calls, choice.finish_reason)


def model_list():
    names = [model.id for model in client.models.list()]
    if MODEL not in names:
        raise AssertionError(f"{MODEL} is not among {names}")


def model_by_name():
    model = client.models.retrieve(MODEL)
    expect("id", model.id, MODEL)
    expect("object", model.object, "model")


checks = Checks("openai-python sync")
checks.run("round trip, whole", whole)
checks.run("round trip, streamed", streamed)
checks.run("round trip, streamed with usage", lambda: streamed(stream_options={"include_usage": True}))
checks.run("round trip, tool_choice that names the function", forced)
checks.run("models.list() lists the agent", model_list)
checks.run("models.retrieve() takes a name with dots", model_by_name)
checks.end()
