"""What the checks share: the files of the tree, and C++ text without its comments."""
import os
import re
import subprocess

# Folders of C++ sources; the first part of a path that an #include in quotes may begin with.
FOLDERS = ("schema", "messages", "registry", "server", "client", "include", "examples", "bench", "tests")


def tracked(root):
    """Paths of all files of the tree, relative to it: what git tracks or would track, or everything outside a checkout."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=False)
    if git.returncode == 0:
        names = [name for name in git.stdout.split("\0") if name]
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files]
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def cpp_files(root):
    return [name for name in tracked(root) if name.endswith((".h", ".cc")) and name.startswith(FOLDERS)]


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def without_comments(text):
    """Comments become spaces and newlines, so that line numbers stay; strings are left as they are."""
    def blank(match):
        found = match.group(0)
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else found
    return _COMMENT_OR_STRING.sub(blank, text)


def includes(text):
    """(line, '<' or '"', path) of each #include outside comments."""
    code = without_comments(text)
    return [(code.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)) for match in _INCLUDE.finditer(code)]
