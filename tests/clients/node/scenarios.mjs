// openai (Node) in the scenarios of ../model.py: two calls at once, and errors of every kind.
import OpenAI from 'openai';
import { fold } from './fold.mjs';
import { QUESTION, TOOLS, expect, run, settings } from './ticket.mjs';

const client = new OpenAI(settings());

const HARD = 'Büro „3“ – 打印机 🖨️ "q" \\ back\nline \\u00e9 </tool>';
const PAIR = [{ title: HARD, priority: 'high' }, { title: 'Printer jams', priority: 'low' }];

// What a status of the upstream is to a caller: the exception, the status, the code.
const STATUSES = {
  400: [OpenAI.BadRequestError, 400, 'code_400'],
  401: [OpenAI.InternalServerError, 502, 'upstream_auth'],
  403: [OpenAI.InternalServerError, 502, 'upstream_auth'],
  404: [OpenAI.NotFoundError, 404, 'code_404'],
  408: [OpenAI.InternalServerError, 502, 'upstream_error'],
  413: [OpenAI.APIError, 413, 'code_413'],
  422: [OpenAI.UnprocessableEntityError, 422, 'code_422'],
  429: [OpenAI.RateLimitError, 429, 'code_429'],
  500: [OpenAI.InternalServerError, 502, 'upstream_error'],
  502: [OpenAI.InternalServerError, 502, 'upstream_error'],
  503: [OpenAI.InternalServerError, 502, 'upstream_error'],
};

const create = (model, messages, more = {}) => client.chat.completions.create({ model, messages, tools: TOOLS, ...more });
const whole = async (model, messages) => (await create(model, messages)).choices[0];
const streamed = async (model, messages) => fold(await create(model, messages, { stream: true }));

async function pair(ask) {
  const { message, finish_reason } = await ask('pair', [QUESTION]);
  expect('finish_reason', finish_reason, 'tool_calls');
  expect('arguments', message.tool_calls.map((call) => JSON.parse(call.function.arguments)), PAIR);
  expect('number of different ids', new Set(message.tool_calls.map((call) => call.id)).size, 2);
  // The results in the other order: each belongs to its id.
  const results = message.tool_calls.map((call, at) =>
    ({ role: 'tool', tool_call_id: call.id, content: JSON.stringify({ ticket_id: `INC-${at}` }) }));
  const last = await ask('pair', [QUESTION, message, ...results.reverse()]);
  expect('answer', [last.message.content, last.message.tool_calls ?? [], last.finish_reason], ['Done: INC-0 and INC-1', [], 'stop']);
}

async function thrown(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('no exception');
}

async function refused(ask, upstream) {
  const error = await thrown(ask(`status-${upstream}`, [QUESTION]));
  const [kind, status, code] = STATUSES[upstream];
  expect('exception', error.constructor.name, kind.name);
  expect('status and code', [error.status, error.code], [status, code]);
  expect('keys of the error', Object.keys(error.error).sort(), ['code', 'message', 'param', 'type']);
  expect('retry-after', error.headers.get('retry-after'), upstream === 429 ? '7' : null);
  if (status !== 502) expect('message', error.error.message, `the model says ${upstream}`);
  else expect(`"${error.error.message}" holds the upstream's status`, error.error.message.includes(upstream), true);
}

async function brokenWhole(model) {
  const error = await thrown(whole(model, [QUESTION]));
  expect('exception', error.constructor.name, 'InternalServerError');
  expect('status and code', [error.status, error.code], [502, 'upstream_error']);
}

// The text that was sent arrives, then an exception: never an end that looks like the answer's.
async function brokenStreamed(model) {
  const arrived = { message: { role: 'assistant', content: '' }, finish_reason: null };
  const error = await thrown(fold(await create(model, [QUESTION], { stream: true }), arrived));
  expect('exception', error.constructor.name, 'APIError');
  expect('code', error.code, 'upstream_error');
  expect('text and end', [arrived.message.content, arrived.finish_reason], ['The first half', null]);
}

const checks = {
  'two calls with hard arguments, whole': () => pair(whole),
  'two calls with hard arguments, streamed': () => pair(streamed),
};
for (const upstream of Object.keys(STATUSES).map(Number)) {
  checks[`status ${upstream} of the upstream, whole`] = () => refused(whole, upstream);
  checks[`status ${upstream} of the upstream, streamed`] = () => refused(streamed, upstream);
}
for (const model of ['broken', 'cut']) {
  checks[`an answer that is ${model}, whole`] = () => brokenWhole(model);
  checks[`an answer that is ${model}, streamed`] = () => brokenStreamed(model);
}
await run('openai-node scenarios', checks);
