"""llama.cpp's HTTP server on a free port: `llama_server.py MODEL_FILE`, until standard input ends."""
import sys

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.n_ctx = 8192
settings.n_parallel = 1
settings.cpuparams.n_threads = 1
settings.warmup = False
settings.sampling.temp = 0
server = xllamacpp.Server(settings)
print(f"listening on {server.listening_address}", flush=True)
sys.stdin.read()
