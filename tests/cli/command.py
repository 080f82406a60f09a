"""The command itself: usage, errors, what it is linked with."""
import json
import subprocess

from shared import MUSTER, UNREACHABLE, USAGE, equal, holds


def usage_is_explained(folder):
    holds(folder.run("--help"), "import", "watch", "Exit codes: 0 done")
    holds(folder.run("set", "--help"), "Component.field")
    holds(folder.run("--version"), "muster 0")
    holds(folder.error(USAGE), "A subcommand is required", "muster --help")
    holds(folder.error(USAGE, "dance"), "muster --help")
    holds(folder.error(USAGE, "ls", "--bogus"), "--bogus")


def errors_are_json_too(folder):
    said = json.loads(folder.run("info", "--json", exit=UNREACHABLE))
    equal(said["exit"], UNREACHABLE)
    holds(said["error"], "no world is served in this folder")


def the_command_links_no_world(folder):
    symbols = subprocess.run(["nm", "-C", MUSTER], capture_output=True, text=True, check=True).stdout
    holds(symbols, "muster::Client::connect")
    for foreign in ("EntityRegistry", "sqlite3_", "asio::", "muster::World::", "muster::Storage"):
        assert foreign not in symbols, f"muster holds {foreign}"
