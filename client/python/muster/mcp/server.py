"""The Model Context Protocol over stdin and stdout: one JSON-RPC message in each line."""
import json
import sys
import traceback

from ..errors import MusterError
from .answers import CHARACTERS_MAX, text_of

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
INSTRUCTIONS = """This is a running world of entities with components, which others may edit at the same time. Begin with info.
An answer has at most 20,000 characters; `cursor` in an answer means that there is more. `sequence` counts what has
happened. edit changes components as one step, which undo takes back; dry_run tries first. push sends a message of the
game. To be careful, edit in a run (play), and let a person choose which edits are kept."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602


class Wrong(Exception):
    """An error of JSON-RPC."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Server:
    """Answers messages. `agent` has the tools."""

    def __init__(self, agent, version):
        self.agent, self.version = agent, version

    def answer(self, line):
        """Returns the answer to one line, as a dict, or None if there is none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _failed(None, PARSE_ERROR, "this line is not JSON")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _failed(None, INVALID_REQUEST, "a JSON-RPC 2.0 object is expected")
        if "method" not in message or "id" not in message:
            return None  # a notification, or an answer
        try:
            parameters = message.get("params", {})
            if not isinstance(parameters, dict):
                raise Wrong(INVALID_PARAMS, "params must be an object")
            return {"jsonrpc": "2.0", "id": message["id"], "result": self.result(message["method"], parameters)}
        except Wrong as error:
            return _failed(message["id"], error.code, str(error))

    def result(self, method, parameters):
        if method == "initialize":
            wanted = parameters.get("protocolVersion")
            return {"protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "muster", "version": self.version}, "instructions": INSTRUCTIONS}
        if method == "ping":
            return {}
        if method == "tools/list":
            examples = self.agent.examples
            return {"tools": [each.described(examples) for each in self.agent.tools.values()]}
        if method == "tools/call":
            return self.called(parameters.get("name"), parameters.get("arguments") or {})
        raise Wrong(NO_METHOD, f"there is no method {method!r}")

    def called(self, name, arguments):
        if not isinstance(name, str) or name not in self.agent.tools:
            raise Wrong(INVALID_PARAMS, f"there is no tool {name!r}")
        if not isinstance(arguments, dict):
            raise Wrong(INVALID_PARAMS, "arguments must be an object")
        try:
            parts = self.agent.call(name, arguments)
        except MusterError as error:
            return {"content": [{"type": "text", "text": str(error)[:CHARACTERS_MAX // 4]}], "isError": True}
        except Exception as error:  # a defect of a tool must not end the session
            traceback.print_exc(file=sys.stderr)
            text = f"{name} failed because of a defect in it: {type(error).__name__}"
            return {"content": [{"type": "text", "text": text}], "isError": True}
        return {"content": [{"type": "text", "text": parts}] if isinstance(parts, str) else parts}


def _failed(request, code, text):
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": text}}


def serve(server, lines, write):
    """Answers lines until they end. `write` takes the bytes of one line."""
    for line in lines:
        if line.strip():
            answer = server.answer(line)
            if answer is not None:
                write(text_of(answer).encode("utf-8", "replace") + b"\n")
