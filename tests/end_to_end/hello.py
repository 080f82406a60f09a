#!/usr/bin/env python3
"""Runs the programs that README shows, as a reader would. `hello.py HELLO_REGISTRY PROGRAM MUSTER SERVER`: PROGRAM is README's own text, with a
free port. The last line is `N passed, N failed`."""
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from deadline import deadline  # noqa: E402
from programs import Folder, run_tests  # noqa: E402

HELLO_REGISTRY, PROGRAM, MUSTER, SERVER = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:5])


def serve(folder):
    """README's program, and the address that it printed before it was looked for."""
    process = folder.start(PROGRAM, stderr=subprocess.PIPE)
    address = process.stderr.readline()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=\w{20,}\n", address), address
    return process


def end(process, by):
    process.send_signal(by)
    assert process.wait(timeout=20) == 0, process.stderr.read()


def health(folder):
    return float(re.search(r"value +(\S+)", folder.run("show", "/orc"))[1])


def a_registry_alone_needs_no_file(folder):
    ran = subprocess.run([HELLO_REGISTRY], cwd=folder.path, capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "/orc has 23 health\nthe orc is dead\n", ran.stdout
    assert list(folder.path.iterdir()) == []


def an_edit_from_outside_survives_the_end_of_the_program(folder):
    """The signal comes at once: the edit may not be on disk yet."""
    for by, value in ((signal.SIGINT, 12), (signal.SIGTERM, 14)):
        process = serve(folder)
        folder.run("set", "/orc", "Health.value", value)
        end(process, by)
        process = serve(folder)
        assert health(folder) == value, health(folder)
        end(process, by)


def an_edit_that_was_durable_survives_a_kill(folder):
    process = serve(folder)
    assert health(folder) == 23
    folder.run("set", "/orc", "Health.value", "9", "--durable")
    process.kill()
    process.wait()
    process = serve(folder)
    assert health(folder) == 9
    end(process, signal.SIGTERM)


def commands_find_the_program_by_its_world(folder):
    process = serve(folder)
    assert "orc" in folder.run("ls"), "as the only world served in the folder"
    assert "orc" in folder.run("ls", "--world", "level1.muster")
    info = folder.run("info")
    assert pathlib.Path(PROGRAM).name in info and "muster-server" not in info, info
    end(process, signal.SIGINT)
    assert not (folder.path / "level1.muster-server.json").exists()


def tools_muster_takes_the_world_that_is_served_in_the_current_folder(folder):
    root = pathlib.Path(__file__).resolve().parents[2]

    def tool(build):
        return subprocess.run([root / "tools/muster", "ls"], cwd=folder.path, capture_output=True, text=True, check=False, timeout=60,
                              env=folder.environment | {"MUSTER_BUILD": str(build), "XDG_STATE_HOME": str(folder.path / "state")})
    build = pathlib.Path(MUSTER).resolve().parents[2]
    assert "skirmish.muster" in tool(build).stderr, "the demo's world, if none is served here"
    process = serve(folder)
    assert "orc" in tool(build).stdout
    end(process, signal.SIGTERM)
    ran = tool(folder.path)
    assert ran.returncode == 3 and "run tools/demo first" in ran.stderr, ran.stderr


def a_second_start_names_the_one_that_has_the_world(folder):
    process = serve(folder)
    second = folder.start(PROGRAM, stderr=subprocess.PIPE)
    said = second.stderr.read()
    second.wait(timeout=20)
    assert f"level1.muster: in use by process {process.pid}" in said, said
    end(process, signal.SIGINT)


if __name__ == "__main__":
    with deadline(100, "the programs that README shows"):
        code = run_tests([a_registry_alone_needs_no_file, an_edit_from_outside_survives_the_end_of_the_program,
                          an_edit_that_was_durable_survives_a_kill, commands_find_the_program_by_its_world,
                          tools_muster_takes_the_world_that_is_served_in_the_current_folder,
                          a_second_start_names_the_one_that_has_the_world],
                         lambda path: Folder(path, MUSTER, SERVER))
    sys.exit(code)
