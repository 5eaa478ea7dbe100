// openai (Node): the loop written by hand, whole and streamed, and the model list.
import OpenAI from 'openai';
import { fold } from './fold.mjs';
import { MODEL, TOOLS, TOOL_NAME, expect, roundTrip, run, settings } from './ticket.mjs';

const client = new OpenAI(settings());

function envelope(answer, kind) {
  expect('object', answer.object, kind);
  expect('model', answer.model, MODEL);
  expect('id and created are there', Boolean(answer.id && answer.created), true);
}

async function whole(messages, more = {}) {
  const answer = await client.chat.completions.create({ model: MODEL, messages, tools: TOOLS, ...more });
  envelope(answer, 'chat.completion');
  const { usage } = answer;
  expect('total tokens', usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  return answer.choices[0];
}

async function streamed(messages, more = {}) {
  const stream = await client.chat.completions.create({ model: MODEL, messages, tools: TOOLS, stream: true, ...more });
  let usage = null;
  async function* lookedAt() {
    for await (const chunk of stream) {
      envelope(chunk, 'chat.completion.chunk');
      usage = chunk.usage ?? usage;
      yield chunk;
    }
  }
  const answer = await fold(lookedAt());
  expect('usage in the stream', usage !== null, 'stream_options' in more);
  return answer;
}

const forced = { tool_choice: { type: 'function', function: { name: TOOL_NAME } } };
const withUsage = { stream_options: { include_usage: true } };

await run('openai-node', {
  'round trip, whole': () => roundTrip(whole),
  'round trip, streamed': () => roundTrip(streamed),
  'round trip, streamed with usage': () => roundTrip((messages) => streamed(messages, withUsage)),
  // Forced in the first request only; in the second it would ask for another ticket.
  'round trip, tool_choice that names the function': () =>
    roundTrip((messages) => whole(messages, messages.length === 1 ? forced : {})),
  'models.list() lists the agent': async () => {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    expect(`${MODEL} is among ${names}`, names.includes(MODEL), true);
  },
  'models.retrieve() takes a name with dots': async () => {
    const model = await client.models.retrieve(MODEL);
    expect('id', model.id, MODEL);
    expect('object', model.object, 'model');
  },
});
