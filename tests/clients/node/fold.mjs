// Puts the chunks of a stream together by hand, as most applications do. What has arrived is in the
// object that was given, also if the stream breaks off.
import { expect } from './ticket.mjs';

export async function fold(stream, into = { message: { role: 'assistant', content: '' }, finish_reason: null }) {
  for await (const chunk of stream) {
    const [choice] = chunk.choices;
    if (!choice) continue;
    into.message.content += choice.delta.content ?? '';
    for (const delta of choice.delta.tool_calls ?? []) {
      into.message.tool_calls ??= [];
      const call = into.message.tool_calls[delta.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } };
      call.id += delta.id ?? '';
      call.function.name += delta.function.name ?? '';
      call.function.arguments += delta.function.arguments ?? '';
    }
    if (!choice.finish_reason) continue;
    expect('finish_reason before the last chunk', into.finish_reason, null);
    into.finish_reason = choice.finish_reason;
  }
  return into;
}
