#!/usr/bin/env python3
"""Writes cmake/sources.cmake, the lists of what a CMake build compiles and shows, from what the Meson build in BUILD does.

`cmake_sources.py SOURCE BUILD` writes it; with --check it only says how it differs, as `N passed, N failed`.
"""
import difflib
import json
import pathlib
import sys

import units
from public_headers import public_headers

# list -> the Meson libraries whose sources it holds
LISTS = {
    "muster_schema_sources": ["muster_schema"],
    "muster_schemac_sources": ["schemac"],
    "muster_registry_sources": ["muster_messages", "muster_registry"],
    "muster_client_sources": ["muster-client", "tls"],
    "muster_world_sources": ["muster-world"],
    "muster_server_sources": ["muster-server", "listener", "page_folder", "tls"],
}


def lists(source, build):
    targets = json.loads((build / "meson-info/intro-targets.json").read_text(encoding="utf-8"))
    compiled = {}
    for target in targets:
        if target["type"] != "executable" or target["name"] == "schemac":
            compiled[target["name"]] = {str(pathlib.Path(file).relative_to(source)) for part in target["target_sources"]
                                        for unit in part["sources"] + part["generated_sources"]
                                        for file in units.sources_of(unit) if file.endswith(".cc")}
    for name, libraries in LISTS.items():
        yield name, sorted(set.union(*(compiled[library] for library in libraries)))
    headers = public_headers(source, build).values()
    yield "muster_public_headers", sorted(str(file.relative_to(source)) for file in headers if not file.is_relative_to(build))
    yield "muster_schemas", sorted(f"schema/{file.stem}.fbs" for file in headers
                                   if file.is_relative_to(build) and (source / f"schema/{file.stem}.fbs").exists())


def text(source, build):
    parts = ["# Written by tools/cmake_sources.py from what Meson builds; tests/checks compares them.\n"]
    for name, files in lists(source, build):
        parts.append(f"set({name}\n" + "".join(f"  {file}\n" for file in files) + ")\n")
    return "".join(parts)


def main(source, build, *check):
    source, build = pathlib.Path(source).resolve(), pathlib.Path(build).resolve()
    file, expected = source / "cmake/sources.cmake", text(source, build)
    if not check:
        file.write_text(expected, encoding="utf-8")
        return 0
    found = file.read_text(encoding="utf-8")
    if found != expected:
        print("".join(difflib.unified_diff(found.splitlines(True), expected.splitlines(True), str(file), "what Meson builds")))
        print(f"run tools/cmake_sources.py {source} {build} to rewrite it")
    print("1 passed, 0 failed" if found == expected else "0 passed, 1 failed")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
