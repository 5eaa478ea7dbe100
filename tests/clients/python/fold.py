"""Puts the chunks of a stream together by hand, as most applications do."""
from types import SimpleNamespace

from ticket import MODEL, envelope, expect


class Folded:
    def __init__(self, model=MODEL):
        self.model = model
        self.text, self.calls, self.finish_reason, self.usage = "", [], None, None
        self.ids = set()

    def add(self, chunk):
        envelope(chunk, "chat.completion.chunk", self.model)
        self.ids.add(chunk.id)
        if chunk.usage:
            self.usage = chunk.usage
        for choice in chunk.choices:
            self.text += choice.delta.content or ""
            for delta in choice.delta.tool_calls or []:
                self._add_call(delta)
            if choice.finish_reason:
                expect("finish_reason before the last chunk", self.finish_reason, None)
                self.finish_reason = choice.finish_reason

    def _add_call(self, delta):
        if delta.index == len(self.calls):
            function = SimpleNamespace(name="", arguments="")
            self.calls.append(SimpleNamespace(id="", type="function", function=function))
        call = self.calls[delta.index]
        call.id += delta.id or ""
        call.function.name += delta.function.name or ""
        call.function.arguments += delta.function.arguments or ""

    def message(self):
        """The assistant message to send back."""
        calls = [{"id": c.id, "type": c.type, "function": vars(c.function)} for c in self.calls]
        return {"role": "assistant", "content": self.text or None, "tool_calls": calls}

    def end(self, include_usage):
        expect("number of ids in one stream", len(self.ids), 1)
        expect("usage in the stream", self.usage is not None, include_usage)
        return self
