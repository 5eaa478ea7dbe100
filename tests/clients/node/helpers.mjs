// openai (Node), the SDK's own helpers: stream(), parse() and runTools().
import OpenAI from 'openai';
import { MODEL, QUESTION, TOOLS, expect, resultOf, roundTrip, run, settings } from './ticket.mjs';

const client = new OpenAI(settings());
const [tool] = TOOLS;
const body = (messages) => ({ model: MODEL, messages, tools: TOOLS });

async function streamed(messages) {
  const stream = client.chat.completions.stream(body(messages));
  let said = '';
  stream.on('content', (delta) => { said += delta; });
  const answer = await stream.finalChatCompletion();
  expect('text of the content events', said, answer.choices[0].message.content ?? '');
  return answer.choices[0];
}

async function parsed(messages) {
  // The helper takes strict functions only.
  const strict = { ...tool, function: { ...tool.function, strict: true } };
  const answer = await client.chat.completions.parse({ ...body(messages), tools: [strict] });
  return answer.choices[0];
}

// runTools() sends tool_choice "auto" and cannot be told to leave it out, so it goes out of the body
// here; the documentation says the same to users of this helper.
function withoutToolChoice(url, init) {
  const { tool_choice, ...rest } = JSON.parse(init.body);
  return fetch(url, { ...init, body: JSON.stringify(rest) });
}

async function looped(stream) {
  let runs = 0;
  const ticket = (args) => {
    runs += 1;
    expect('title is a text', typeof args.title, 'string');
    return resultOf({}).content;
  };
  const runner = new OpenAI({ ...settings(), fetch: withoutToolChoice }).chat.completions.runTools({
    model: MODEL, messages: [QUESTION], stream,
    tools: [{ ...tool, function: { ...tool.function, parse: JSON.parse, function: ticket } }],
  });
  const text = await runner.finalContent();
  expect('runs of the function', runs, 1);
  expect(`the final text "${text}" quotes the ticket`, Boolean(text?.includes('INC-2026-001')), true);
}

await run('openai-node helpers', {
  'round trip, stream()': () => roundTrip(streamed),
  'round trip, parse()': () => roundTrip(parsed),
  'round trip, runTools(), whole': () => looped(false),
  'round trip, runTools(), streamed': () => looped(true),
});
