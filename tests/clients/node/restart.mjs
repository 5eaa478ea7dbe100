// openai (Node) before and after the gateway is started anew: `restart.mjs begin|end FILE BASE_URL`.
//
// `begin` gets a handback behind a round that the caller does not see, and keeps the conversation in
// the file, as an application keeps it in its database. `end` sends the result to the new process.
import { readFileSync, writeFileSync } from 'node:fs';
import OpenAI from 'openai';
import { fold } from './fold.mjs';
import { QUESTION, TOOLS, expect, finalAnswer, resultOf, run, settings, theCall } from './ticket.mjs';

const [step, file] = process.argv.splice(2, 2); // what is left is what every script here takes
const client = new OpenAI(settings());

const create = (messages, more = {}) => client.chat.completions.create({ model: 'hidden', messages, tools: TOOLS, ...more });
const whole = async (messages) => (await create(messages)).choices[0];
const streamed = async (messages) => fold(await create(messages, { stream: true }));

async function begin(ask, kept) {
  const { message, finish_reason } = await ask([QUESTION]);
  const call = theCall(message, finish_reason);
  // The article that was looked up has 6,000 characters that hardly compress.
  expect('the id has thousands of characters', call.id.length >= 4000, true);
  kept.push([QUESTION, message, resultOf(call)]);
}

async function end(ask, kept) {
  const { message, finish_reason } = await ask(kept.shift());
  finalAnswer(message, finish_reason);
  expect('text', message.content, 'Done: INC-2026-001');
}

const conversations = step === 'begin' ? [] : JSON.parse(readFileSync(file, 'utf8'));
await run(`openai-node restart, ${step}`, step === 'begin' ? {
  'a handback behind a hidden round, whole': () => begin(whole, conversations),
  'a handback behind a hidden round, streamed': () => begin(streamed, conversations),
} : {
  'the result goes to a new process, whole': () => end(whole, conversations),
  'the result goes to a new process, streamed': () => end(streamed, conversations),
});
if (step === 'begin') writeFileSync(file, JSON.stringify(conversations));
