"""The command itself: usage, errors, what it is linked with."""
import json
import subprocess

from shared import MUSTER, UNREACHABLE, USAGE, equal, holds


def usage_is_explained(folder):
    holds(folder.run("--help"), "import", "watch", "Exit codes: 0 success")
    holds(folder.run("set", "--help"), "Component.field")
    holds(folder.run("--version"), "muster 0")
    holds(folder.error(USAGE), "A subcommand is required", "muster --help")
    holds(folder.error(USAGE, "dance"), "unknown command 'dance'", "muster --help")
    holds(folder.error(USAGE, "ls", "--bogus"), "--bogus")


def an_unknown_command_is_named_with_the_nearest_one(folder):
    holds(folder.error(USAGE, "tre"), "unknown command 'tre'; did you mean 'tree'?")
    holds(folder.error(USAGE, "--timeout", "3", "xyzzyx", "a", "b"), "unknown command 'xyzzyx'\n")
    holds(folder.error(USAGE, "--bogus"), "A subcommand is required")


def an_address_that_is_none_is_named_before_its_token(folder):
    for wrong in ("nonsense", "host:", ":1"):
        holds(folder.error(USAGE, "info", "--connect", wrong),
              f"'{wrong}' is not an address: expected HOST:PORT, tls:HOST:PORT or unix:PATH")
    holds(folder.error(USAGE, "info", "--connect", "localhost:1"), "--connect needs the server's token")


def errors_are_json_too(folder):
    said = json.loads(folder.run("info", "--json", exit=UNREACHABLE))
    equal(said["exit"], UNREACHABLE)
    holds(said["error"], "no world is served in this folder")


def the_command_links_no_world(folder):
    symbols = subprocess.run(["nm", "-C", MUSTER], capture_output=True, text=True, check=True).stdout
    holds(symbols, "muster::Client::connect")
    for foreign in ("EntityRegistry", "sqlite3_", "asio::", "muster::World::", "muster::Storage"):
        assert foreign not in symbols, f"muster holds {foreign}"
