"""openai (Python), the SDK's own helpers: parse() and stream() with a tool made from a class.

They send what a hand-written loop does not: `strict`, `$defs`, and messages that come back with
`parsed`, `parsed_arguments` and `index`.
"""
import asyncio
from enum import Enum

import openai
from pydantic import BaseModel

from ticket import MODEL, QUESTION, TOOL_NAME
from ticket import Checks, envelope, expect, final_answer, result_of, settings, the_call


class Priority(str, Enum):
    low = "low"
    medium = "medium"
    high = "high"


class Ticket(BaseModel):
    title: str
    priority: Priority


TOOLS = [openai.pydantic_function_tool(Ticket, name=TOOL_NAME, description="Create a support ticket.")]

client = openai.OpenAI(**settings())


def body(messages):
    return {"model": MODEL, "messages": messages, "tools": TOOLS}


def parsed(messages):
    return client.chat.completions.parse(**body(messages))


def streamed(messages):
    with client.chat.completions.stream(**body(messages), stream_options={"include_usage": True}) as stream:
        events = {event.type for event in stream}
        answer = stream.get_final_completion()
    done = "tool_calls.function.arguments.done" if answer.choices[0].message.tool_calls else "content.done"
    if done not in events:
        raise AssertionError(f"no event {done} among {sorted(events)}")
    if not (answer.usage and answer.usage.total_tokens):
        raise AssertionError(f"usage is {answer.usage!r}")
    return answer


def streamed_async(messages):
    async def run():
        async with openai.AsyncOpenAI(**settings()) as client:
            async with client.chat.completions.stream(**body(messages)) as stream:
                return await stream.get_final_completion()

    return asyncio.run(run())


def round_trip(ask):
    answer = ask([QUESTION])
    envelope(answer, "chat.completion")
    choice = answer.choices[0]
    call = the_call(choice.message.tool_calls, choice.finish_reason)
    expect("type of the parsed arguments", type(call.function.parsed_arguments), Ticket)
    choice = ask([QUESTION, choice.message, result_of(call)]).choices[0]
    final_answer(choice.message.content, choice.message.tool_calls, choice.finish_reason)


checks = Checks("openai-python helpers")
checks.run("round trip, parse()", lambda: round_trip(parsed))
checks.run("round trip, stream()", lambda: round_trip(streamed))
checks.run("round trip, stream() of the async client", lambda: round_trip(streamed_async))
checks.end()
