"""Writes a model for llama.cpp that is small enough to be made on the spot, and says what it should.

    tiny_model.py FILE

It is a Llama of one layer whose attention and feed-forward weights are zero, so that the next token
follows from the last one alone: the row of `output.weight` for a token is the sum of the embeddings
of those that it comes after. So the weights hold the chains of tokens below, and all the rest of the
server is what any model gets: tokenizer, chat template, grammar, parser of tool calls, sampler.
"""
import sys

import gguf
import numpy

WIDTH, HIDDEN, LAYERS, HEADS, CONTEXT = 256, 32, 1, 4, 8192

# In the form of the Hermes and Qwen models, which llama.cpp reads calls from. Which chain follows is
# decided by the marker at its end.
TEMPLATE = """\
{%- if tools %}<|system|>You may call:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}
Answer with <tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|tool|><tool_response>{{ message.content }}</tool_response>
{%- else %}<|{{ message.role }}|>{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{%- set last = messages[-1].content | string if messages else '' %}
{%- if messages and messages[-1].role == 'tool' and 'INC-' in last %}<|result|>
{%- elif tools and 'what time' in last %}<|clock|>
{%- elif tools %}<|ticket|>
{%- else %}<|assistant|>{% endif %}
{%- endif %}"""

CHAINS = [
    ["<|assistant|>", "The", " line", " camera", " is", " misaligned", "."],
    ["<|clock|>", "<tool_call>", "\n", '{"name": "current_time", "arguments": {', "}}", " \n", "</tool_call>"],
    ["<|ticket|>", "<tool_call>\n", '{"name": "', "create_service_ticket", '", "arguments": {"title": "',
     "Camera", '", "priority": "', "high", '"}}\n', "</tool_call>\n"],
    ["<|result|>", "I", " opened", " a", " ticket", "!"],
]
ROLES = ["<|system|>", "<|user|>", "<|tool|>"]
END = "</s>"


def vocabulary():
    """Tokens with their kinds: the control tokens, each byte, and the pieces of the chains."""
    kind = gguf.TokenType
    tokens = {"<unk>": kind.UNKNOWN, "<s>": kind.CONTROL, END: kind.CONTROL}
    tokens |= {f"<0x{byte:02X}>": kind.BYTE for byte in range(256)}
    tokens |= {marker: kind.CONTROL for marker in ROLES + [chain[0] for chain in CHAINS]}
    for chain in CHAINS:
        tokens |= {piece(text): kind.NORMAL for text in chain[1:]}
    return tokens


def piece(text):
    return text.replace(" ", "\u2581")  # as this kind of vocabulary writes spaces


def successors():
    """What comes after a token; it has to be one and the same wherever the token occurs."""
    after = {}
    for chain in CHAINS:
        pieces = [piece(text) for text in chain] + [END]
        for token, next_one in zip(pieces, pieces[1:]):
            if after.setdefault(token, next_one) != next_one:
                raise ValueError(f"{token!r} has two successors")
    return after


def weights(tokens):
    embeddings = numpy.random.default_rng(1).standard_normal((len(tokens), WIDTH)).astype(numpy.float32)
    embeddings /= numpy.linalg.norm(embeddings, axis=1, keepdims=True)
    number = {token: at for at, token in enumerate(tokens)}
    output = numpy.zeros_like(embeddings)
    for token, next_one in successors().items():
        output[number[next_one]] += embeddings[number[token]]
    yield "token_embd.weight", embeddings
    yield "output.weight", output
    yield "output_norm.weight", numpy.ones(WIDTH, numpy.float32)
    for layer in range(LAYERS):
        for norm in ["attn_norm", "ffn_norm"]:
            yield f"blk.{layer}.{norm}.weight", numpy.ones(WIDTH, numpy.float32)
        for square in ["attn_q", "attn_k", "attn_v", "attn_output"]:
            yield f"blk.{layer}.{square}.weight", numpy.zeros((WIDTH, WIDTH), numpy.float32)
        for wide in ["ffn_gate", "ffn_up"]:
            yield f"blk.{layer}.{wide}.weight", numpy.zeros((HIDDEN, WIDTH), numpy.float32)
        yield f"blk.{layer}.ffn_down.weight", numpy.zeros((WIDTH, HIDDEN), numpy.float32)


def write(path):
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(tokens))
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(list(tokens.values()))
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in weights(tokens):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


write(sys.argv[1])
