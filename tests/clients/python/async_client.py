"""openai (Python), asynchronous client: the loop written by hand."""
import asyncio

from openai import AsyncOpenAI

from fold import Folded
from ticket import MODEL, QUESTION, TOOLS
from ticket import Checks, envelope, final_answer, result_of, settings, the_call


async def whole(client):
    async def ask(messages):
        answer = await client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS)
        envelope(answer, "chat.completion")
        return answer.choices[0]

    choice = await ask([QUESTION])
    call = the_call(choice.message.tool_calls, choice.finish_reason)
    choice = await ask([QUESTION, choice.message, result_of(call)])
    final_answer(choice.message.content, choice.message.tool_calls, choice.finish_reason)


async def streamed(client):
    async def ask(messages):
        folded = Folded()
        async for chunk in await client.chat.completions.create(
            model=MODEL, messages=messages, tools=TOOLS, stream=True
        ):
            folded.add(chunk)
        return folded.end(include_usage=False)

    answer = await ask([QUESTION])
    call = the_call(answer.calls, answer.finish_reason)
    answer = await ask([QUESTION, answer.message(), result_of(call)])
    final_answer(answer.text, answer.calls, answer.finish_reason)


async def side_by_side(client):
    """Ten turns at once over one connection pool: none may see anything of another."""
    await asyncio.gather(*(trip(client) for trip in [whole, streamed] * 5))


def with_client(check):
    async def run():
        async with AsyncOpenAI(**settings()) as client:
            await check(client)

    return lambda: asyncio.run(run())


checks = Checks("openai-python async")
checks.run("round trip, whole", with_client(whole))
checks.run("round trip, streamed", with_client(streamed))
checks.run("ten round trips side by side", with_client(side_by_side))
checks.end()
