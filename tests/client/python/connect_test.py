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
from muster import proof
from muster.batch import Frames, frame_of
from muster.core import Core
from muster.errors import Lost, Mistaken, ProtocolError
from muster.link import Tls, tls_for
from support import PACKAGE, Programs, WorldTest

TOKEN_ID = "1c2dc39f748ec0d797987612cfe053e5"
SERVER_PROOF = "09bf58a9f9bef44161f2dac2526209b1c59f787581608a3b896bff747d608df6"
CLIENT_PROOF = "eaa5434d4192d6b9c5f2053dea661611ff1f38dce667f50c7648b033310e827d"


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

    def test_the_token_is_proved_to_a_server_that_proves_that_it_knows_the_token(self):
        # The bytes that the formulas of docs/protocol.md give for these inputs.
        own, theirs = bytes(range(32)), bytes(range(32, 64))
        self.assertEqual(proof.id_of("abc").hex(), TOKEN_ID)
        self.assertEqual(proof.server_proof("abc", own, theirs).hex(), SERVER_PROOF)
        self.assertEqual(proof.client_proof("abc", own, theirs).hex(), CLIENT_PROOF)
        types = Core().types
        for is_right in (True, False):
            with self.subTest(is_right=is_right), socket.create_server(("127.0.0.1", 0)) as server:
                seen = []
                thread = threading.Thread(target=self.challenge, args=(server, types, is_right, seen))
                thread.start()
                with self.assertRaises(Lost) as caught:
                    muster.connect(f"127.0.0.1:{server.getsockname()[1]}", token="abc", timeout=5)
                thread.join(10)
                self.assertEqual(seen, ["Hello", "Proof"] if is_right else ["Hello"])
                self.assertRegex(str(caught.exception), "closed" if is_right else "not the server that was meant")

    def challenge(self, server, types, is_right, seen):
        """Answers a Hello with a Challenge, and ends the connection after a Proof that is right."""
        stream, _ = server.accept()
        stream.settimeout(5)
        frames, core = Frames(1 << 16), Core()
        with stream:
            while data := stream.recv(4096):
                self.assertNotIn(b"abc", data)
                for frame in frames.take(data, types):
                    value = frame.batch.message(0, {})
                    seen.append(frame.batch.type.short)
                    if seen[-1] == "Hello":
                        own = value.nonce
                        said = proof.server_proof("abc" if is_right else "abd", own, bytes(32))
                        self.assertEqual((value.token_id, value.token), (proof.id_of("abc"), ""))
                        stream.sendall(frame_of(core.control("Challenge", nonce=bytes(32), proof=said), frame.request))
                    else:
                        self.assertEqual(value.proof, proof.client_proof("abc", own, bytes(32)))
                        return

    def test_only_connections_that_stay_on_this_machine_are_not_encrypted(self):
        for address, is_encrypted in [("127.0.0.1:1", False), ("localhost:1", False), ("[::1]:1", False), ("unix:/a", False),
                                      ("tls:127.0.0.1:1", True), ("10.0.0.1:1", True), ("example.org:1", True),
                                      ("[2001:db8::1]:1", True)]:
            self.assertEqual(tls_for(address) is not None, is_encrypted, address)
        self.assertIsNotNone(tls_for("127.0.0.1:1", fingerprint="ab" * 32))

    def test_a_world_is_served_with_tls_to_a_client_that_knows_the_certificate(self):
        helped = subprocess.run([Programs.server, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
        if "--self-signed" not in helped:
            self.skipTest("this server has no TLS")
        path = self.serve("--self-signed")
        self.connect(path).info()
        beside = json.loads((self.path / "w.muster-server.json").read_text())
        server = {"token": beside["token"]}
        self.connect("tls:" + beside["address"], fingerprint=beside["tls"], **server).info()
        self.connect(beside["address"], fingerprint=beside["tls"].lower().replace(":", ""), **server).info()
        for options, said in [({"fingerprint": "ab" * 32}, "is expected"), ({}, "certificate")]:
            with self.assertRaisesRegex(Lost, said):
                muster.connect("tls:" + beside["address"], **server, **options)

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
