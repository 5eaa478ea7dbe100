"""openai (Python) before and after the gateway is started anew: `restart.py begin|end FILE BASE_URL`.

`begin` gets a handback behind a round that the caller does not see, and keeps the conversation in the
file, as an application keeps it in its database. `end` sends the result to the new process.
"""
import json
import sys

import openai

from fold import Folded
from ticket import QUESTION, TICKET_ID, TOOLS
from ticket import Checks, expect, final_answer, result_of, settings, the_call

STEP, FILE = sys.argv[1:3]
del sys.argv[1:3]  # what is left is what every script here takes

client = openai.OpenAI(**settings())


def whole(messages):
    choice = client.chat.completions.create(model="hidden", messages=messages, tools=TOOLS).choices[0]
    return choice.message.content, choice.message.tool_calls, choice.finish_reason, choice.message.to_dict()


def streamed(messages):
    folded = Folded("hidden")
    for chunk in client.chat.completions.create(model="hidden", messages=messages, tools=TOOLS, stream=True):
        folded.add(chunk)
    return folded.text, folded.calls, folded.finish_reason, folded.message()


def begin(ask, kept):
    _, calls, finish_reason, message = ask([QUESTION])
    call = the_call(calls, finish_reason)
    # The article that was looked up has 6,000 characters that hardly compress.
    if len(call.id) < 4000:
        raise AssertionError(f"the id has {len(call.id)} characters: where is what was looked up?")
    kept.append([QUESTION, message, result_of(call)])


def end(ask, kept):
    text, calls, finish_reason, _ = ask(kept.pop(0))
    final_answer(text, calls, finish_reason)
    expect("text", text, f"Done: {TICKET_ID}")


checks = Checks(f"openai-python restart, {STEP}")
if STEP == "begin":
    conversations = []
    checks.run("a handback behind a hidden round, whole", lambda: begin(whole, conversations))
    checks.run("a handback behind a hidden round, streamed", lambda: begin(streamed, conversations))
    with open(FILE, "w") as file:
        json.dump(conversations, file)
else:
    with open(FILE) as file:
        conversations = json.load(file)
    checks.run("the result goes to a new process, whole", lambda: end(whole, conversations))
    checks.run("the result goes to a new process, streamed", lambda: end(streamed, conversations))
checks.end()
