"""The sources that one command of a build compiles. -Dunity=on combines several into a unit."""
import json
import os
import pathlib
import re

COMBINED = re.compile(r"-unity\d+\.cpp$")


def sources_of(unit):
    """Returns the paths of the sources that a combined unit includes, or that of any other file."""
    if not COMBINED.search(str(unit)):
        return [str(unit)]
    text = pathlib.Path(unit).read_text(encoding="utf-8")
    included = re.findall(r"^#include<(.+)>$", text, re.MULTILINE)
    return [os.path.normpath(source) for source in included]


def compile_commands(path):
    """Returns the entries of a compile_commands.json. A combined unit has one per source, which
    compiles it alone."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    entries = []
    for entry in json.loads(text):
        if not COMBINED.search(entry["file"]):
            entries.append(entry)
            continue
        for source in sources_of(pathlib.Path(entry["directory"]) / entry["file"]):
            command = entry["command"].replace(f" {entry['file']}", f" {source}")
            entries.append(entry | {"file": source, "command": command})
    return entries
