"""What one command of a build compiles: a source, or several that -Dunity=on combines into one unit."""
import json
import os
import pathlib
import re

COMBINED = re.compile(r"-unity\d+\.cpp$")


def sources_of(unit):
    """Returns the paths of the sources that a combined unit includes, or else the path of the file itself."""
    if not COMBINED.search(str(unit)):
        return [str(unit)]
    included = re.findall(r"^#include<(.+)>$", pathlib.Path(unit).read_text(encoding="utf-8"), re.MULTILINE)
    return [os.path.normpath(source) for source in included]


def compile_commands(path):
    """Returns the entries of a compile_commands.json. A combined unit has one per source, which compiles it alone, and
    `others`: how many more sources the unit has."""
    entries = []
    for entry in json.loads(pathlib.Path(path).read_text(encoding="utf-8")):
        if not COMBINED.search(entry["file"]):
            entries.append(entry | {"others": 0})
            continue
        sources = sources_of(pathlib.Path(entry["directory"]) / entry["file"])
        entries += [entry | {"file": source, "command": entry["command"].replace(f" {entry['file']}", f" {source}"),
                             "others": len(sources) - 1} for source in sources]
    return entries
