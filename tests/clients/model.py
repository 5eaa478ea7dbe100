"""The model server behind the gateway in the scenarios: `model.py`, for half an hour at most.

It prints `listening on http://...`. The model's name says what it does with a chat completion:

    pair          two calls at once, with arguments that are hard to carry; then quotes both results
    hidden        a call of the service tool `lookup`, then one of the caller's; then quotes the result
    status-NNN    that status, in OpenAI's shape
    broken        some text, then an error event (whole: an error inside a 200)
    cut           some text, then the connection ends (whole: in the middle of the body)

GET /lookup is the service that `lookup` runs. It remembers nothing, so that what a later request needs
has to come with it.
"""
import http.server
import json
import random
import threading

# Letters of two to four bytes, quotes, a backslash, a line end, and what looks like an escape.
HARD = 'Büro „3“ – 打印机 🖨️ "q" \\ back\nline \\u00e9 </tool>'
PAIR = [{"title": HARD, "priority": "high"}, {"title": "Printer jams", "priority": "low"}]
ARTICLE = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=6000))
HALF = {"role": "assistant", "content": "The first half"}


def call(number, name, arguments):
    text = json.dumps(arguments, ensure_ascii=False)
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}


def tickets(calls):
    return [call(at, "create_service_ticket", arguments) for at, arguments in enumerate(calls)]


def answer(request):
    """The message, by the model's name and the results that the request brings."""
    results = [m["content"] for m in request["messages"] if m["role"] == "tool"]
    found = [result for result in results if ARTICLE in result]
    made = [json.loads(result)["ticket_id"] for result in results if result not in found]
    if request["model"] == "hidden" and not found:
        if made:
            return {"role": "assistant", "content": "What I looked up is lost."}
        return {"role": "assistant", "content": None, "tool_calls": [call("lookup", "lookup", {"q": "camera"})]}
    if made:
        return {"role": "assistant", "content": "Done: " + " and ".join(made)}
    return {"role": "assistant", "content": None,
            "tool_calls": tickets(PAIR if request["model"] == "pair" else PAIR[:1])}


def deltas(message):
    """The message in small pieces: the arguments of each call in pieces of seven characters."""
    yield {"role": "assistant", "content": message["content"]}
    for index, one in enumerate(message.get("tool_calls", [])):
        name, text = one["function"]["name"], one["function"]["arguments"]
        yield {"tool_calls": [{**one, "index": index, "function": {"name": name, "arguments": ""}}]}
        for at in range(0, len(text), 7):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text[at:at + 7]}}]}


def error(status):
    return {"error": {"message": f"the model says {status}", "type": "model_error", "param": None,
                      "code": f"code_{status}"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.whole(200, {"article": ARTICLE})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model, streamed = request["model"], request.get("stream", False)
        if model.startswith("status-"):
            status = int(model.removeprefix("status-"))
            self.whole(status, error(status), {"retry-after": "7"} if status == 429 else {})
        elif model in ("broken", "cut"):
            (self.break_off if streamed else self.break_whole)(request)
        elif streamed:
            self.stream(request, answer(request))
        else:
            self.whole(200, self.envelope(request, "chat.completion", {"message": answer(request)}))

    def envelope(self, request, kind, choice):
        calls = (choice.get("message") or {}).get("tool_calls")
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", **choice}
        return {"id": "chatcmpl-1", "object": kind, "created": 1764500000, "model": request["model"],
                "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}}

    def whole(self, status, body, headers=()):
        body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(body), **dict(headers)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, payload):
        text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
        self.wfile.write(f"data: {text}\n\n".encode())

    def chunk(self, request, delta, finish_reason=None):
        body = self.envelope(request, "chat.completion.chunk", {"delta": delta, "finish_reason": finish_reason})
        del body["usage"]
        self.event(body)

    def stream(self, request, message):
        self.begin_stream()
        for delta in deltas(message):
            self.chunk(request, delta)
        self.chunk(request, {}, "tool_calls" if "tool_calls" in message else "stop")
        self.event("[DONE]")

    def break_off(self, request):
        self.begin_stream()
        self.chunk(request, HALF)
        if request["model"] == "broken":
            self.event(error(500))

    def break_whole(self, request):
        if request["model"] == "broken":
            return self.whole(200, error(500))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"role"')
        self.close_connection = True

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
threading.Event().wait(1800)
