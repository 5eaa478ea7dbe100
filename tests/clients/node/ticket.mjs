// What the Node clients share: the support-ticket conversation, and how a check reports.
//
// A script is called with the base URL (".../v1"). Each check prints one line, `ok NAME` or
// `FAIL NAME: why`, and the script ends non-zero if one of them failed.
import { deepStrictEqual } from 'node:assert';

export const MODEL = 'support-ticket.agent.support-ticket-agent';
export const QUESTION = { role: 'user', content: 'The packaging line camera is misaligned.' };
export const TOOL_NAME = 'create_service_ticket';
const PRIORITIES = ['low', 'medium', 'high'];
export const TOOLS = [{
  type: 'function',
  function: {
    name: TOOL_NAME,
    description: 'Create a support ticket in the customer service system.',
    parameters: {
      type: 'object',
      properties: { title: { type: 'string' }, priority: { type: 'string', enum: PRIORITIES } },
      required: ['title', 'priority'],
    },
  },
}];
const TICKET_ID = 'INC-2026-001';

// Options for the SDK's client. No retries: a second try would hide a failure.
export function settings() {
  if (process.argv.length !== 3) {
    console.error(`usage: ${process.argv[1]} BASE_URL`);
    process.exit(2);
  }
  const apiKey = process.env.HANDBACK_API_KEY ?? 'unused';
  return { baseURL: process.argv[2], apiKey, maxRetries: 0, timeout: 30_000 };
}

export function expect(what, actual, wanted) {
  const show = JSON.stringify;
  deepStrictEqual(actual, wanted, `${what} is ${show(actual)}, expected ${show(wanted)}`);
}

// The one call of the handback, after a look at all that a caller relies on before it runs it.
export function theCall(message, finishReason) {
  expect('finish_reason of the handback', finishReason, 'tool_calls');
  expect('number of calls', message.tool_calls?.length, 1);
  const [call] = message.tool_calls;
  expect('type of the call', call.type, 'function');
  expect('name of the call', call.function.name, TOOL_NAME);
  expect('the call has an id', Boolean(call.id), true);
  const args = JSON.parse(call.function.arguments);
  expect('argument names', Object.keys(args).sort(), ['priority', 'title']);
  expect('title is a text', typeof args.title === 'string' && args.title.length > 0, true);
  expect(`priority ${args.priority} is one of ${PRIORITIES}`, PRIORITIES.includes(args.priority), true);
  return call;
}

// The tool message that answers the call.
export function resultOf(call) {
  const content = JSON.stringify({ ticket_id: TICKET_ID, status: 'created' });
  return { role: 'tool', tool_call_id: call.id, content };
}

// The end of the turn: nothing more is handed back, and the text quotes the result.
export function finalAnswer(message, finishReason) {
  expect('finish_reason of the answer', finishReason, 'stop');
  expect('calls of the answer', message.tool_calls ?? [], []);
  expect(`the final text "${message.content}" quotes ${TICKET_ID}`, Boolean(message.content?.includes(TICKET_ID)), true);
}

// The whole conversation; `ask` sends the messages and gives back the choice of the answer.
export async function roundTrip(ask) {
  const first = await ask([QUESTION]);
  const call = theCall(first.message, first.finish_reason);
  const second = await ask([QUESTION, first.message, resultOf(call)]);
  finalAnswer(second.message, second.finish_reason);
}

// Runs the checks, an object of name to async function, one after another.
export async function run(client, checks) {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok ${client}: ${name}`);
    } catch (error) {
      process.exitCode = 1;
      const why = `${error?.constructor?.name}: ${error?.message}`.replace(/\s+/g, ' ');
      console.log(`FAIL ${client}: ${name}: ${why.slice(0, 500)}`);
    }
  }
}
