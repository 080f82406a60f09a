#!/usr/bin/env python3
"""Fails on an #include that points up the layers, and on a few that do not belong where they are.

    schema <- messages <- registry <- server/world <- server        client: schema and messages only

Inside registry, server/world and server the rooms have an order too, below; what lies beside the rooms (the facade) has a place in it.

`includes.py ROOT` checks a tree; `includes.py --self-test` feeds it trees with one violation each.
"""
import os
import re

from source_tree import cpp_files, found_in, includes, read, run_check, self_tested, tracked, without_comments

# Rooms of a layer, from below to above: each may name those before it. The layer's own name stands for the files beside the rooms.
ROOMS = {
    "registry": ["registry/storage", "registry/handlers", "registry/apply", "registry/observe", "registry/delivery", "registry",
                 "registry/state", "registry/moments", "registry/templates", "registry/history"],
    "server/world": ["server/world/time", "server/world/place", "server/world/rows", "server/world/journal",
                     "server/world/store", "server/world/file", "server/world/saving", "server/world/replay", "server/world"],
    "server": ["server/plugins", "server/access", "server/session", "server/figures", "server/web", "server/assets", "server/mirror",
               "server/watches", "server/questions", "server/edits", "server/desk", "server/door", "server/program", "server"],
    "server/host": ["server/host"],
}
FILES_MAX = 30  # source files side by side in a folder
LINES_MAX = 600
WRITTEN = (".cc", ".h", ".fbs", ".py", ".ts", ".tsx", ".css")  # what people write and read, whatever the language

# layer -> the layers it may name besides itself. A file belongs to the longest layer its path begins with.
LAYERS = {
    "system": [],  # of programs and of what opens files: facts of the operating system
    "schema": [],
    "schema/schemac": ["schema", "system"],  # a program, which runs flatc
    "messages": ["schema"],
    "registry": ["schema", "messages", "system"],
    "server/world": ["schema", "messages", "registry", "system"],
    "server/postgres": ["schema", "messages", "registry", "server/world", "system"],
    "server": ["schema", "messages", "registry", "server/world", "server/postgres", "system"],
    "server/file_program": ["schema", "messages", "registry", "server/world", "server/postgres", "system"],  # a program for world files that are not served
    "server/host": ["schema", "messages", "server", "system"],  # a program
    "client/cpp": ["schema", "messages", "system"],
    "client/import": ["schema", "messages", "client/cpp"],
    "client/cli": ["schema", "messages", "client/cpp", "client/import", "system"],
}
EVERYTHING = ("examples", "bench", "tests")  # see all layers, and are seen by none

# include/muster/X.h is the face of one layer and may show what that layer may name.
UMBRELLAS = {"messages.h": "messages", "registry.h": "registry", "host.h": "registry", "world.h": "server/world", "server.h": "server",
             "plugin.h": "server", "client.h": "client/cpp"}

POSIX = re.compile(r"^(unistd|fcntl|dlfcn|pthread|signal|poll|netdb|semaphore|termios|sched)\.h$"
                   r"|^(sys|netinet|arpa|linux)/")
INPUT_OUTPUT = re.compile(r"^(fstream|iostream|filesystem|thread|csignal)$")


def layer_of(path):
    if path.startswith("include/muster/"):
        return UMBRELLAS.get(path.removeprefix("include/muster/"))
    fitting = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(fitting, key=len, default=None)


def room_of(path):
    """(layer, place of its room from below); None where the layer has no rooms."""
    layer = layer_of(path)
    if layer not in ROOMS or path.startswith("include/"):
        return None
    folder = os.path.dirname(path)
    return layer, ROOMS[layer].index(folder) if folder in ROOMS[layer] else -1


def room_violation(path, name):
    """What is wrong with `path` naming `name`, both of one layer that has rooms."""
    here, there = room_of(path), room_of(name)
    if here and there and here[0] == there[0] and 0 <= here[1] < there[1]:
        return f'{os.path.dirname(path)} includes "{name}", of a room above it'
    return None


def sizes(root, files):
    """Folders and files in which a reader loses the way."""
    count = {}
    for path in files:
        count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
        room = room_of(path)
        if room and room[1] < 0:
            yield f"{path}: {os.path.dirname(path)} is no room of {room[0]}; the rooms are in tests/checks/includes.py"
    for folder, files_there in sorted(count.items()):
        if files_there > FILES_MAX:
            yield f"{folder}: holds {files_there} source files, more than {FILES_MAX}: it needs rooms"
    for path in tracked(root):
        lines = read(root, path).count("\n") if path.endswith(WRITTEN) else 0
        if lines > LINES_MAX:
            yield f"{path}: has {lines} lines, more than {LINES_MAX}: it is several subjects"


def schemas_and_made_headers(root):
    """Every .fbs file, and every header that a meson.build says it makes beside itself."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "build")]
        here = os.path.relpath(folder, root)
        yield from (os.path.normpath(os.path.join(here, name)) for name in names if name.endswith(".fbs"))
        if "meson.build" in names:
            for output in re.findall(r"\boutput:\s*(\[[^\]]*\]|'[^']*')", read(root, os.path.join(here, "meson.build"))):
                yield from (os.path.normpath(os.path.join(here, name)) for name in re.findall(r"'([^'@]+\.h)'", output))


def exists(path, files):
    """In the tree, or made while building: named in a meson.build, or from a schema of the same name."""
    base = path.removesuffix(".h").removesuffix("_generated")
    if path in files or base + ".fbs" in files:
        return True
    if path.endswith("_bfbs.h") and path.removesuffix("_bfbs.h") + ".fbs" in files:
        return True
    return "/" not in path and any(name.endswith("/" + base + ".fbs") for name in files)


def violations(root):
    files = set(cpp_files(root))
    every_name = files | set(schemas_and_made_headers(root))
    yield from sizes(root, sorted(files))
    for path in sorted(files):
        text = read(root, path)
        layer, header = layer_of(path), path.endswith(".h")
        free = path.startswith(EVERYTHING)
        if layer is None and not free:
            yield f"{path}: belongs to no layer; the layers are in tests/checks/includes.py"
            continue
        for line, quote, name in includes(text):
            where = f"{path}:{line}"
            own = f"include/{name}" if name.startswith("muster/") else name
            if quote == '"':
                if name.startswith("muster/"):
                    yield f'{where}: "{name}" is written <{name}>'
                    continue
                if not exists(name, every_name):
                    yield f'{where}: "{name}" is no path from the repository root'
                    continue
            target = layer_of(own)
            if own.startswith("include/muster/"):
                if target is None:
                    yield f"{where}: <{name}> is the face of no layer"
                elif path.startswith("include/"):
                    if target not in LAYERS[layer]:
                        yield f"{where}: <{name}> is the face of {target}, which is not below {layer}"
                elif not free:
                    yield f"{where}: <{name}> is for users of the libraries; name the header itself"
            elif quote == '"' and not free:
                if own.startswith(EVERYTHING):
                    yield f'{where}: {layer} includes "{name}", which belongs to no library'
                elif target and target != layer and target not in LAYERS[layer]:
                    yield f'{where}: {layer} includes "{name}" of {target}, which is above it'
                elif wrong := room_violation(path, own):
                    yield f"{where}: {wrong}"
            if name.startswith(("boost/asio", "boost/beast")):
                if header and not free:
                    yield f"{where}: Asio is for .cc files; a header that shows it costs every reader seconds"
                elif not free and layer not in ("server", "server/host", "client/cpp", "client/cli"):
                    yield f"{where}: {layer} knows no sockets"
            if name == "sqlite3.h" and not free and (header or layer != "server/world"):
                yield f"{where}: SQLite is for .cc files of server/world"
            if name.startswith(("spdlog/", "fmt/")) and not free and (header or layer not in ("server", "server/host", "client/cli")):
                yield f"{where}: spdlog is for .cc files of server and client/cli"
            if layer in ("schema", "messages", "registry") and POSIX.search(name):
                yield f"{where}: {layer} knows no operating system"
            # The one that a host may use or replace, and how those who wait in it leave the processor to others.
            pool = name == "thread" and path in ("registry/delivery/thread_pool.cc", "registry/delivery/look_awhile.h")
            if layer in ("messages", "registry") and INPUT_OUTPUT.search(name) and not pool:
                yield f"{where}: {layer} does no input or output and starts no threads"
        if header:
            code = without_comments(text)
            for found in re.finditer(r"^\s*using\s+namespace\b", code, re.MULTILINE):
                yield f"{path}:{code.count(chr(10), 0, found.end()) + 1}: `using namespace` in a header"
            if not re.search(r"^#pragma once$", code, re.MULTILINE):
                yield f"{path}: no #pragma once"


HEADER = "#pragma once\n"
GOOD = {
    "schema/hash.h": HEADER,
    "schema/muster.fbs": "",
    "messages/batch.h": HEADER + '#include <vector>\n#include "schema/hash.h"\n#include "schema/muster.h"\n',
    "registry/row.h": HEADER + '// #include "server/session.h" in a comment\n#include "messages/batch.h"\n',
    "registry/delivery/thread_pool.cc": "#include <thread>\n",
    "server/world/file.cc": '#include <sqlite3.h>\n#include "registry/row.h"\n',
    "server/session.cc": '#include <boost/asio.hpp>\n#include <spdlog/spdlog.h>\n#include "server/world/open.h"\n',
    "server/world/open.h": HEADER,
    "schema/schemac/run.cc": '#include <unistd.h>\n#include "schema/hash.h"\n',
    "client/cpp/connect.cc": '#include <boost/asio/ip/tcp.hpp>\n#include "messages/batch.h"\n',
    "include/muster/registry.h": HEADER + '#include "registry/row.h"\n',
    "include/muster/world.h": HEADER + '#include <muster/registry.h>\n#include "server/world/open.h"\n',
    "examples/hello.cc": '#include <muster/registry.h>\n#include "game.h"\n',
    "examples/game.fbs": "",
    "examples/meson.build": "custom_target('x', output: ['made.h', 'made.bfbs'])\ncustom_target('y', output: 'other.h')\n",
    "examples/made.cc": '#include "examples/made.h"\n#include "examples/other.h"\n',
}
# (file, text, what the message must say)
BAD = [
    ("schema/a.cc", '#include "schema/schemac/run.h"\n', "which is above it"),
    ("schema/a.h", HEADER + '#include "messages/batch.h"\n', "which is above it"),
    ("messages/a.cc", '#include "registry/row.h"\n', "which is above it"),
    ("registry/a.h", HEADER + '  #  include "server/world/open.h"\n', "which is above it"),
    ("server/world/a.cc", '#include "server/other.h"\n', "which is above it"),
    ("client/cpp/a.cc", '#include "registry/row.h"\n', "which is above it"),
    ("client/cli/a.cc", '#include "server/world/open.h"\n', "which is above it"),
    ("include/muster/registry.h", HEADER + '#include "server/world/open.h"\n', "which is above it"),
    ("include/muster/registry.h", HEADER + "#include <muster/world.h>\n", "which is not below registry"),
    ("include/muster/other.h", HEADER, "belongs to no layer"),
    ("registry/a.cc", "#include <muster/registry.h>\n", "for users of the libraries"),
    ("server/a.cc", '#include "tests/support/model.h"\n', "belongs to no library"),
    ("registry/a.cc", '#include "row.h"\n', "no path from the repository root"),
    ("examples/made.cc", '#include "examples/unmade.h"\n', "no path from the repository root"),
    ("server/a.h", HEADER + "#include <boost/asio.hpp>\n", "Asio is for .cc files"),
    ("registry/a.cc", "#include <boost/asio.hpp>\n", "knows no sockets"),
    ("server/world/a.cc", "#include <boost/beast.hpp>\n", "knows no sockets"),
    ("server/a.cc", "#include <sqlite3.h>\n", "SQLite is for"),
    ("server/world/a.h", HEADER + "#include <sqlite3.h>\n", "SQLite is for"),
    ("server/a.h", HEADER + "#include <spdlog/spdlog.h>\n", "spdlog is for"),
    ("registry/a.cc", "#include <unistd.h>\n", "no operating system"),
    ("messages/a.cc", "#include <sys/mman.h>\n", "no operating system"),
    ("registry/a.cc", "#include <fstream>\n", "no input or output"),
    ("registry/a.cc", "#include <thread>\n", "starts no threads"),
    ("registry/delivery/thread_pool.cc", "#include <fstream>\n", "no input or output"),
    ("server/a.h", HEADER + "using namespace std;\n", "`using namespace` in a header"),
    ("server/a.h", "int x;\n", "no #pragma once"),
]


def self_test():
    failures = [f"a tree without violations: {found}" for found in found_in(violations, GOOD)]
    extra = {"registry/state/made.h": HEADER, "schema/schemac/run.h": HEADER, "server/other.h": HEADER, "tests/support/model.h": HEADER}
    for path, text, message in BAD:
        found = found_in(violations, GOOD | extra | {path: text})
        if len(found) != 1 or message not in found[0]:
            failures.append(f"{path} with {text!r}: expected one violation that says {message!r}, found {found}")
    crowded = found_in(violations, GOOD | {f"schema/file_{i}.h": HEADER for i in range(FILES_MAX)})
    if len(crowded) != 1 or "needs rooms" not in crowded[0]:
        failures.append(f"a crowded folder: {crowded}")
    long = found_in(violations, GOOD | {"tests/cli/long.py": "\n" * (LINES_MAX + 1)})
    if len(long) != 1 or "several subjects" not in long[0]:
        failures.append(f"a long file that is no C++: {long}")
    return self_tested(len(BAD) + 3, failures)


if __name__ == "__main__":
    run_check(violations, self_test)
