"""Finding a server, beginning a session, and everything that ends one."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

import muster
from muster.errors import Lost, Mistaken, ProtocolError
from muster.link import Tls
from support import PACKAGE, WorldTest


class Connect(WorldTest):
    def test_a_world_is_found_as_the_command_finds_it(self):
        path = self.serve("--unix", "w.sock")
        beside = json.loads((self.path / "w.muster-server.json").read_text())
        self.connect(str(path)).info()
        world = self.connect(beside["address"], token=beside["token"], name="Ann")
        self.assertEqual((world.role, world.welcome.world, world.playing), ("admin", "w.muster", False))
        self.connect("unix:" + str(self.path / "w.sock"), token=beside["token"]).info()
        code = "import muster\nwith muster.connect() as world: print(world.info().entities)"
        for environment in ({}, {"MUSTER_WORLD": str(path)}):
            ran = subprocess.run([sys.executable, "-c", code], cwd=self.path if not environment else "/", text=True, timeout=60,
                                 env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment}, capture_output=True, check=True)
            self.assertEqual(ran.stdout, "0\n")
        sessions = world.ask("ListSessions")
        self.assertIn(("Ann", "python"), list(zip(sessions.names, sessions.kinds)))

    def test_a_server_that_is_not_there_is_reported_with_a_sentence(self):
        path = self.serve()
        beside = self.path / "w.muster-server.json"
        server = json.loads(beside.read_text())
        for where, options, kind, said in [
                ("nothing.muster", {}, Lost, "no server is running for nothing.muster, and there is no such world"),
                ("127.0.0.1:1", {"token": "x"}, Lost, "cannot connect to 127.0.0.1:1"),
                ("127.0.0.1:1", {}, Mistaken, "a token is needed"),
                (server["address"], {"token": "wrong"}, Lost, "token"),
                ("localhost:99999", {"token": "x"}, Lost, "cannot connect")]:
            with self.assertRaisesRegex(kind, said):
                muster.connect(where, **options)
        try:
            muster.connect(server["address"], token="wrong")
        except Lost as error:
            self.assertEqual(error.code, "bad_token")
        for text, said in [("{", "cannot read"), ("[]", "not a server's address file"), ("{}", "not a server's address file"),
                           (json.dumps({**server, "pid": "x"}), "not a server's"),
                           (json.dumps({**server, "pid": 2 ** 22 + 1}), "has ended"),
                           (json.dumps({**server, "pid": os.getpid()}), "does not have it open")]:
            beside.write_text(text)
            with self.assertRaisesRegex((Lost, Mistaken), said):
                muster.connect(path)
        beside.chmod(0o644)
        with self.assertRaisesRegex(Mistaken, "can be read by others"):
            muster.connect(path)

    def test_a_server_that_is_killed_ends_calls_with_an_error(self):
        world = self.world()
        self.server.kill()
        with self.assertRaises(Lost):
            for _ in range(1000):
                world.info()
        self.assertIsInstance(world.ended, Lost)
        with self.assertRaises(Lost):
            world.create("orc")
        world.close()

    def test_an_idle_session_is_kept_alive(self):
        world = self.world("--limit", "silence_ns_max=600000000")
        threading.Event().wait(2)
        self.assertEqual(world.info().sessions, 1)

    def test_a_silent_server_is_late(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            with self.assertRaises(muster.Late):
                muster.connect(f"127.0.0.1:{server.getsockname()[1]}", token="x", timeout=0.3)

    def test_a_server_that_sends_anything_else_ends_the_connection_with_a_protocol_error(self):
        for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\xff" * 4096, b"\x40\0\0\0" + bytes(60),
                       b"\x30\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0" + bytes(32)):
            with socket.create_server(("127.0.0.1", 0)) as server:
                def serve(server=server, answer=answer):
                    stream, _ = server.accept()
                    with stream:
                        stream.recv(4096)
                        stream.sendall(answer)
                        stream.recv(4096)
                thread = threading.Thread(target=serve)
                thread.start()
                with self.assertRaises(ProtocolError):
                    muster.connect(f"127.0.0.1:{server.getsockname()[1]}", token="x", timeout=5)
                thread.join(10)

    def test_a_forked_process_does_not_use_the_session_of_its_parent(self):
        code = ("import muster, os, sys\nworld = muster.connect(sys.argv[1])\npid = os.fork()\n"
                "if pid == 0:\n"
                "    try: world.info()\n"
                "    except muster.Lost: muster.connect(sys.argv[1]).close(); os._exit(7)\n"
                "    os._exit(1)\n"
                "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), world.info().entities)\nworld.close()")
        ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code, self.serve()], capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PYTHONPATH": str(PACKAGE)}, check=False)
        self.assertEqual((ran.stdout, ran.stderr), ("7 0\n", ""))

    def test_a_locale_that_is_not_utf_8_changes_nothing(self):
        code = ("import muster, sys, pathlib\n"
                "with muster.connect(sys.argv[1]) as world:\n"
                "    orc = world.create('Тор ü', world.types.Unit(title='日本'))\n"
                "    assert world.entity('Тор ü') == orc and world.show(orc)['Unit'].title == '日本'\n"
                "    world.define_templates(pathlib.Path('t.json').read_text('utf-8'))\n"
                "    print(ascii(world.show(orc).path), ascii(list(world.templates())))\n")
        (self.path / "t.json").write_text('{ templates: [ { name: "ü" } ] }', encoding="utf-8")
        (self.path / "script.py").write_text(code, encoding="utf-8")
        world = self.serve(world="wörld.muster")
        ran = subprocess.run([sys.executable, "script.py", os.fsencode(world)], cwd=self.path, capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": str(PACKAGE), "LC_ALL": "C", "PYTHONUTF8": "0",
                                  "PYTHONCOERCECLOCALE": "0"}, timeout=60, check=False)
        self.assertEqual((ran.stdout, ran.stderr), ("'/\\u0422\\u043e\\u0440 \\xfc' ['\\xfc']\n", ""))

    def test_a_fingerprint_is_checked_before_anything_is_sent(self):
        Tls(fingerprint="AB:" * 31 + "ab")
        for wrong in ("", "ab", "x" * 64):
            with self.assertRaises(Mistaken):
                Tls(fingerprint=wrong)
        with self.assertRaisesRegex(Lost, "is expected"):
            Tls(fingerprint="00" * 32).check(b"a certificate")

    def test_the_package_is_installed_by_pip_from_its_folder(self):
        if subprocess.run([sys.executable, "-c", "import setuptools, wheel, venv, ensurepip"], capture_output=True, check=False,
                          timeout=60).returncode:
            self.skipTest("setuptools, wheel, venv or ensurepip is not installed")
        import shutil
        shutil.copytree(PACKAGE, self.path / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        run = {"check": True, "capture_output": True, "timeout": 120, "cwd": self.path}
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "v"], **run)
        subprocess.run(["v/bin/python", "-m", "pip", "install", "--no-index", "--no-build-isolation", "./python"], **run)
        said = subprocess.run(["v/bin/python", "-c", "import muster; print(muster.__file__)"], text=True, **run).stdout
        self.assertIsNotNone(re.search("v/lib/.*/muster/__init__.py", said), said)


if __name__ == "__main__":
    unittest.main()
