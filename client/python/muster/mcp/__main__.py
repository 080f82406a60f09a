"""`python3 -m muster.mcp`, which `muster mcp` starts."""
import argparse
import sys

from ..errors import Mistaken, MusterError
from .agent import Agent
from .server import Server, serve

VERSION = "0.1.0"
USAGE, NO_SERVER = 2, 3


def main():
    parser = argparse.ArgumentParser("muster mcp", description="Serves a running world to an AI agent: the Model Context "
                                     "Protocol over stdin and stdout. The token is that of MUSTER_TOKEN.")
    parser.add_argument("--world", help="the world file whose server to use (or MUSTER_WORLD)")
    parser.add_argument("--connect", help="another server: HOST:PORT or unix:PATH")
    parser.add_argument("--name", default="agent", help="the agent's name, shown to other users")
    parser.add_argument("--timeout", type=float, default=10, help="how many seconds to wait for an answer")
    given = parser.parse_args()
    try:
        agent = Agent(given.connect or given.world, name=given.name, timeout=given.timeout)
    except MusterError as error:
        print(f"muster: {error}", file=sys.stderr)
        return USAGE if isinstance(error, Mistaken) else NO_SERVER

    def write(line):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    try:
        serve(Server(agent, VERSION), sys.stdin.buffer, write)
    except (BrokenPipeError, KeyboardInterrupt):
        pass
    finally:
        agent.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
