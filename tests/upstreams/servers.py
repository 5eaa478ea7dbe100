"""Starts what the checks talk to, each on a free port of loopback, and ends it again."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
READY_SECONDS = 120  # LiteLLM alone takes seven on a machine with nothing else to do
KEY = "sk-of-the-proxy-on-loopback-0123456789"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def process(command, log, **more):
    """Runs a command until the block ends. What it says goes to the log."""
    with open(log, "w") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.PIPE, cwd=ROOT, **more)
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def until_ready(child, log, look):
    """Waits for `look` to give something, as long as the process lives."""
    never = threading.Event()
    for _ in range(READY_SECONDS * 10):
        found = look()
        if found:
            return found
        if child.poll() is not None:
            break
        never.wait(0.1)
    raise RuntimeError(f"{log.name} is not ready; it said: {log.read_text()[-2000:]}")


def address(log):
    """The address in a line `listening on http://...`, once it is whole."""
    for line in log.read_text().splitlines(keepends=True):
        if line.startswith("listening on ") and line.endswith("\n"):
            return line.split()[-1]
    return None


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def gateway(folder, name, config):
    """A gateway with this configuration; gives its base URL."""
    file, log = folder / f"{name}.toml", folder / f"{name}.log"
    file.write_text(f'[admin]\nlisten = "127.0.0.1:0"\n{config}')
    command = [os.environ["HANDBACK"], "--config", file, "--listen", "127.0.0.1:0"]
    with process(command, log) as child:
        yield until_ready(child, log, lambda: address(log)) + "/v1"


@contextlib.contextmanager
def llama(folder):
    """llama.cpp's server with the tiny model; gives its base URL."""
    model, log = folder / "tiny.gguf", folder / "llama.log"
    subprocess.run([sys.executable, HERE / "tiny_model.py", model], check=True)
    with process([sys.executable, HERE / "llama_server.py", model], log) as child:
        yield until_ready(child, log, lambda: address(log)) + "/v1"


@contextlib.contextmanager
def litellm(folder, models):
    """LiteLLM's proxy with these models, an object of name to parameters; gives its base URL."""
    port, log, file = free_port(), folder / "litellm.log", folder / "litellm.yaml"
    listed = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "unused", **parameters}}
        for name, parameters in models.items()
    ]
    # JSON is YAML.
    file.write_text(json.dumps({
        "model_list": listed,
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
        "router_settings": {"num_retries": 0},
    }))
    command = [
        pathlib.Path(sys.executable).parent / "litellm", "--config", file, "--host", "127.0.0.1", "--port", str(port)
    ]
    # Its list of prices is also in the package; without this it asks for a newer one.
    quiet = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with process(command, log, env=quiet) as child:
        base = f"http://127.0.0.1:{port}"
        until_ready(child, log, lambda: answers(f"{base}/health/liveliness"))
        yield base + "/v1"
