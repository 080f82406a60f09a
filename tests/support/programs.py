"""The real programs in a folder of a test's own: servers started and found, commands run, everything ended with the test."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import traceback

from deadline import deadline


class Folder:
    """A folder with worlds, and the processes that were started there."""

    def __init__(self, path, muster, server):
        self.path = pathlib.Path(path)
        self.commands = muster, server
        self.started = []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}

    def run(self, *arguments, exit=0, **environment):
        """What one `muster` command writes: to stdout where it is to succeed, else to stderr and nothing to stdout."""
        ran = subprocess.run([self.commands[0], *map(str, arguments)], cwd=self.path, env=self.environment | environment,
                             capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == exit, f"muster {arguments}: exit {ran.returncode}, not {exit}\n{ran.stdout}{ran.stderr}"
        if exit == 0:
            return ran.stdout
        assert ran.stdout == "", ran.stdout
        return ran.stderr

    def json(self, *arguments, exit=0):
        return json.loads(self.run(*arguments, "--json", exit=exit))

    def try_(self, *arguments):
        """Runs a command that may be refused."""
        ran = subprocess.run([self.commands[0], *map(str, arguments)], cwd=self.path, env=self.environment, capture_output=True,
                             text=True, timeout=60, check=False)
        assert ran.returncode in (0, 1), f"muster {arguments}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}"

    def error(self, exit, *arguments, **environment):
        """What is said without the program's name."""
        said = self.run(*arguments, exit=exit, **environment)
        assert said.startswith("muster: "), said
        return said.removeprefix("muster: ").rstrip("\n")

    def start(self, *command, environment=None, **more):
        process = subprocess.Popen([str(word) for word in command], cwd=self.path, text=True,
                                   env=self.environment | (environment or {}), **more)
        self.started.append(process)
        return process

    def start_server(self, world, *arguments, **environment):
        return self.start(self.commands[1], world, "--listen", "127.0.0.1:0", "--quiet", *arguments,
                          environment=environment, stderr=subprocess.PIPE)

    def serve(self, world, *arguments):
        """A server of that world, once others find it."""
        process = self.start_server(world, *arguments)
        self.served_by(world, process)
        return process

    def served_by(self, world, process):
        """What tells others of the server `process`, once they find it."""
        until = time.monotonic() + 20
        beside = self.path / f"{world}-server.json"
        # A killed server may have left such a file.
        while not beside.exists() or json.loads(beside.read_text())["pid"] != process.pid:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.01)
        return json.loads(beside.read_text())

    @staticmethod
    def stop(process):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0, process.stderr.read()

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()


def equal(found, expected):
    assert found == expected, f"found    {found!r}\nexpected {expected!r}"


def run_tests(tests, make_folder, seconds=180):
    """Each in a fresh folder, which make_folder makes a Folder of, and for so long at most. Prints `N passed, N failed`; the
    exit code."""
    passed = 0
    for test in tests:
        path = tempfile.mkdtemp(prefix="muster-programs-")
        folder = make_folder(path)
        try:
            with deadline(seconds, test.__name__.replace("_", " ")):
                test(folder)
            passed += 1
        except Exception:
            print(f"FAILED: {test.__name__.replace('_', ' ')}\n{traceback.format_exc()}", flush=True)
        finally:
            folder.end()
            shutil.rmtree(path, ignore_errors=True)
    failed = len(tests) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
