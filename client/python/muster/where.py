"""Finds the server of a world, in the same order as the `muster` command (docs/cli.md, "Which
world")."""
import json
import os
import pathlib
import re
import urllib.parse

from .errors import Lost, Mistaken

_ADDRESS = re.compile(r"(\[[^\]/]+\]|[^/\\:]+):[0-9]{1,5}(/[^/]+)?")
_ENDING, _BESIDE = ".muster", "-server.json"


class Where:
    """The address of a server, the token, and how the server is recognised if the connection is
    encrypted."""

    def __init__(self, address, token, cafile=None, fingerprint=None, page="", file=""):
        #: `world` is the name of the world on a muster-host, from "host:port/name".
        self.address, self.world = split_world(address)
        self.token, self.cafile, self.fingerprint = token, cafile, fingerprint
        #: The path of the world whose address file named the server, or an empty text.
        self.file = file
        #: The address at which a browser finds the editor's page, or an empty text.
        self.page = page
        if not page and not self.address.startswith(("unix:", "tls:")) and not fingerprint:
            self.page = self.address + (f"/w/{urllib.parse.quote(self.world, safe='')}" if self.world else "")


def split_world(address):
    """Splits "host:7717/town" into the address and the world. A Unix socket has no world."""
    if address.startswith("unix:"):
        return address, ""
    before, _, world = address.partition("/")
    return before, world


def is_address(text):
    return text.startswith(("unix:", "tls:")) or _ADDRESS.fullmatch(text) is not None


def find_server(where, token):
    """Returns the Where of a world file, of an address, or of the only world that is served in this
    folder.

    Raises Lost if no server is found, and Mistaken if it is not clear which one is meant."""
    token = token or os.environ.get("MUSTER_TOKEN", "")
    where = os.fspath(where) if where is not None else os.environ.get("MUSTER_WORLD", "")
    if isinstance(where, bytes):
        where = os.fsdecode(where)
    if where and is_address(where):
        if not token:
            raise Mistaken(f"{where} is an address, so a token is needed: token=..., or MUSTER_TOKEN")
        return Where(where, token)
    found = read_address_file(where) if where else _served_here()
    return Where(found.address, token or found.token, found.cafile, found.fingerprint, found.page, found.file)


def read_address_file(world):
    """Reads the address file that a server writes next to its world. Raises Lost or Mistaken."""
    real = os.path.realpath(world)
    path = real + _BESIDE
    try:
        if os.stat(path).st_mode & 0o077:
            raise Mistaken(f"{path} can be read by others, so its token is not secret. Remove the file and restart the server")
        server = json.loads(pathlib.Path(path).read_bytes().decode("utf-8"))
    except FileNotFoundError:
        missing = "" if os.path.exists(real) else ", and there is no such world"
        raise Lost(f"no server is running for {world}{missing}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, Mistaken):
            raise
        raise Mistaken(f"cannot read {path}: {error}") from None
    texts = {name: server.get(name, "") for name in ("address", "unix", "token", "tls")} if isinstance(server, dict) else {}
    process = server.get("pid") if texts else None
    if not all(isinstance(each, str) for each in texts.values()) or not texts.get("token") \
            or not isinstance(process, int) or process <= 0 or not (texts["address"] or texts["unix"]):
        raise Mistaken(f"{path} is not a server's address file")
    _check_runs(world, real, path, process)
    address = "unix:" + texts["unix"] if texts["unix"] else texts["address"]
    fingerprint = None if texts["unix"] else texts["tls"] or None
    return Where(address, texts["token"], fingerprint=fingerprint, page="" if texts["tls"] else texts["address"], file=real)


def _check_runs(world, real, path, process):
    """Raises Lost if the process that the address file names does not have the world open."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        raise Lost(f"no server is running for {world} (process {process} has ended)") from None
    except PermissionError:
        pass
    if not os.path.exists(real):
        return
    try:
        lock = pathlib.Path(real + "-lock").read_bytes()
    except PermissionError:
        return
    except OSError:
        lock = b""
    found = re.match(rb"muster-lock 1\nprocess ([0-9]+)\n", lock)
    if found is None or int(found[1]) != process:
        raise Lost(f"no server is running for {world}: process {process}, which {path} names, does not have it open")


def _served_here():
    names = set()
    for name in os.listdir("."):
        if name.endswith(_BESIDE):
            names.add(name[:-len(_BESIDE)])
        elif name.endswith(_ENDING):
            names.add(name)
    found = {}
    for name in sorted(names):
        try:
            server = read_address_file(name)
        except (Lost, Mistaken):
            continue
        found.setdefault(server.address, (name, server))
    if not found:
        raise Lost("no world is served in this folder; name one, or set MUSTER_WORLD")
    if len(found) > 1:
        worlds = ", ".join(name for name, _ in found.values())
        raise Mistaken(f"several worlds are served in this folder; name one: {worlds}")
    return next(iter(found.values()))[1]
