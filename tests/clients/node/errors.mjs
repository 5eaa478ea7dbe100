// openai (Node): what is refused arrives as the SDK's own exception, with a message to act on.
import OpenAI from 'openai';
import { MODEL, QUESTION, TOOLS, expect, run, settings } from './ticket.mjs';

const client = new OpenAI(settings());

// Sends the request and looks at the error: its class, its fields, and words its message needs.
// A refused tool_choice is named in `param`; OpenAI itself leaves it null for an unknown model.
async function refused(kind, code, words, request) {
  let error;
  try {
    await client.chat.completions.create({ model: MODEL, messages: [QUESTION], tools: TOOLS, ...request });
  } catch (thrown) {
    error = thrown;
  }
  expect('exception', error?.constructor?.name, kind.name);
  expect('code', error.code, code);
  if (request.tool_choice) expect('param', error.param, 'tool_choice');
  expect('keys of the error', Object.keys(error.error).sort(), ['code', 'message', 'param', 'type']);
  expect(`words missing in "${error.error.message}"`, words.filter((word) => !error.error.message.includes(word)), []);
  expect('the answer has an x-request-id', Boolean(error.requestID), true);
}

// The message names the value that was sent and spells out the form to send instead.
const toolChoice = (value, more = {}) => refused(
  OpenAI.BadRequestError, 'unsupported_tool_choice',
  [value, '"type"', '"function"', '"name"'], { tool_choice: value, ...more });

await run('openai-node errors', {
  'tool_choice "auto" is a BadRequestError': () => toolChoice('auto'),
  'tool_choice "required" is a BadRequestError': () => toolChoice('required'),
  'tool_choice "none" is a BadRequestError': () => toolChoice('none'),
  'tool_choice "auto", streamed, is a BadRequestError': () => toolChoice('auto', { stream: true }),
  'an unknown model is a NotFoundError': () => refused(
    OpenAI.NotFoundError, 'model_not_found', ['no.such.agent'], { model: 'no.such.agent' }),
});
