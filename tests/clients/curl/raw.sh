#!/usr/bin/env bash
# raw.sh BASE_URL: the README's two requests, as a person types them, whole and streamed.
#
# Prints `ok NAME` or `FAIL NAME: why` per check; ends non-zero if one failed. The body of an answer
# is read with python3, since plain text tools cannot read JSON.
set -euo pipefail

base=${1:?usage: raw.sh BASE_URL}
here=$(cd "$(dirname "$0")" && pwd)
failed=0

model='support-ticket.agent.support-ticket-agent'
question='{"id":"msg-001","role":"user","content":"The packaging line camera is misaligned."}'
tools='[{"type":"function","function":{"name":"create_service_ticket",
  "description":"Create a support ticket in the customer service system.",
  "parameters":{"type":"object","properties":{"title":{"type":"string"},
  "priority":{"type":"string","enum":["low","medium","high"]}},"required":["title","priority"]}}}]'
result='{\"ticket_id\":\"INC-2026-001\",\"status\":\"created\"}'

# post EXTRA MESSAGES: sends the messages, with EXTRA keys in front, and prints the answer's body.
post() {
  curl --silent --show-error --no-buffer --max-time 30 --fail-with-body "$base/chat/completions" \
    -H 'content-type: application/json' -H "authorization: Bearer ${HANDBACK_API_KEY:-unused}" \
    -d "{$1\"model\":\"$model\",\"messages\":$2,\"tools\":$tools}"
}

# look 'PYTHON EXPRESSION': prints the value of an expression on `a`, the JSON on standard input.
look() {
  python3 -c 'import json, sys
a = json.load(sys.stdin)
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))' "$1"
}

# expect WHAT ACTUAL WANTED
expect() {
  [ "$2" = "$3" ] || { echo "$1 is '$2', expected '$3'" >&2; return 1; }
}

ask_whole() { post '' "$1" | look 'a["choices"][0]'; }
ask_streamed() { post '"stream":true,' "$1" | python3 "$here/sse.py"; }

# round_trip ASK: both requests; the assistant message goes back byte for byte as JSON value.
# Called where `set -e` does not reach, so every step says itself that a failure ends it.
round_trip() {
  local choice message call
  choice=$("$1" "[$question]") || return 1
  expect finish_reason "$(look 'a["finish_reason"]' <<<"$choice")" tool_calls || return 1
  expect 'names of the calls' "$(look '" ".join(c["function"]["name"] for c in a["message"]["tool_calls"])' <<<"$choice")" \
    create_service_ticket || return 1
  expect 'argument names' "$(look '" ".join(sorted(json.loads(a["message"]["tool_calls"][0]["function"]["arguments"])))' <<<"$choice")" \
    'priority title' || return 1
  message=$(look 'json.dumps({k: a["message"][k] for k in ("role", "content", "tool_calls")})' <<<"$choice") || return 1
  call=$(look 'a["message"]["tool_calls"][0]["id"]' <<<"$choice") || return 1
  choice=$("$1" "[$question,$message,{\"role\":\"tool\",\"tool_call_id\":\"$call\",\"content\":\"$result\"}]") || return 1
  expect finish_reason "$(look 'a["finish_reason"]' <<<"$choice")" stop || return 1
  expect 'the text quotes the ticket' "$(look '"INC-2026-001" in a["message"]["content"]' <<<"$choice")" true || return 1
}

refused() {
  local status
  status=$(curl --silent --max-time 30 --output /dev/null --write-out '%{http_code} %{content_type}' \
    "$base/chat/completions" -H 'content-type: application/json' \
    -H "authorization: Bearer ${HANDBACK_API_KEY:-unused}" \
    -d "{\"model\":\"$model\",\"messages\":[$question],\"tools\":$tools,\"tool_choice\":\"auto\"}") || return 1
  expect 'status and type' "${status%%;*}" '400 application/json' || return 1
}

check() { # NAME COMMAND...
  local name=$1 why
  shift
  if why=$("$@" 2>&1); then
    echo "ok curl: $name"
  else
    echo "FAIL curl: $name: $(tr '\n' ' ' <<<"$why" | cut -c1-500)"
    failed=1
  fi
}

check 'round trip, whole' round_trip ask_whole
check 'round trip, streamed' round_trip ask_streamed
check 'tool_choice "auto" is a 400 in JSON' refused
exit "$failed"
