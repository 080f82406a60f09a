#!/usr/bin/env python3
"""The demo as a person uses it: tools/demo serves the skirmish, `muster` looks at it and edits it while it runs, a second
`muster watch` sees the change as it happens, `muster reload` changes how squads march in mid-battle, SIGTERM stops it, and the next start has the same entities, ids, values,
names and tree. `demo.py BUILD` takes the programs of a build folder. The last line is `N passed, N failed`."""
import json
import os
import math
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from deadline import deadline  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENTITIES = 2000
passed = failed = 0


def expect(what, holds, shown=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAILED: {what}{f': {shown}' if shown != '' else ''}", flush=True)


class Lines:
    """A program whose output is read as it comes."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
        self.lines = []
        self.came = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.came:
                self.lines.append(line.rstrip("\n"))
                self.came.notify_all()
        with self.came:
            self.lines.append(None)  # the end
            self.came.notify_all()

    def wait_for(self, good, seconds):
        """The first line that is good, also among those that came already; None where the program or the time ended."""
        until = time.monotonic() + seconds
        at = 0
        with self.came:
            while True:
                while at < len(self.lines):
                    line = self.lines[at]
                    at += 1
                    if line is None:
                        return None
                    if good(line):
                        return line
                left = until - time.monotonic()
                if left <= 0 or not self.came.wait(left):
                    return None

    def stop(self, seconds=60):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "did not stop"

    def text(self):
        with self.came:
            return "\n".join(line for line in self.lines if line is not None)


class Demo:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.muster = build / "client/cli/muster"
        self.server = build / "server/muster-server"
        self.plugin = folder / "libskirmish.so"
        self.put_plugin("libskirmish.so")
        self.world = folder / "muster/skirmish.muster"
        self.environment = os.environ | {"MUSTER_WORLD": str(self.world), "XDG_STATE_HOME": str(folder)}
        self.environment.pop("SKIRMISH_ENTITIES", None)
        self.token = None

    def put_plugin(self, name):
        """A build of the game over the file that is served, as a compiler does it."""
        shutil.copyfile(self.build / "examples/skirmish" / name, self.plugin)

    def start(self):
        """tools/demo itself."""
        lines = Lines([ROOT / "tools/demo", "--built", self.build, "--listen", "127.0.0.1:0",
                       "--entities", str(ENTITIES), "--plugin", self.plugin], cwd=ROOT, env=self.environment)
        expect("tools/demo says that the world is served", lines.wait_for(lambda line: line.startswith("The world is being served"), 60),
               lines.text())
        address = lines.wait_for(lambda line: line.strip().startswith("http://127.0.0.1:"), 10) or ""
        expect("its last line is the address for a browser", lines.text().rstrip().endswith(address), lines.text())
        expect("the same token as at the last start", self.token in (None, address.partition("#token=")[2]), address)
        self.token = address.partition("#token=")[2]
        expect("the battle waits until it is played", self.run("clock", "--json")["paused"], "")
        self.run("clock", "play")
        left = [path.name for path in self.world.parent.iterdir() if path.name.startswith("making")]
        expect("nothing of the world's making is left", not left, left)
        return lines

    def check_printed(self, lines):
        """The commands of the README and of tools/demo, as a reader of either types them."""
        environment = {name: value for name, value in self.environment.items() if name != "MUSTER_WORLD"}
        environment["MUSTER_BUILD"] = str(self.build)
        readme = (ROOT / "README.md").read_text().splitlines()
        for name, text in (("README.md", readme), ("tools/demo", [line.strip() for line in lines.text().splitlines()])):
            typed = [line for line in text if line.startswith("tools/muster ")]
            expect(f"{name} shows commands", len(typed) >= 3, typed)
            for line in typed:
                if any(word in line for word in (" watch ", " trace ", " reload")):
                    continue  # watch and trace last, reload is tried elsewhere
                ran = subprocess.run(["bash", "-c", line if name == "README.md" else re.split(r" {3,}", line)[0]], cwd=ROOT,
                                     env=environment, capture_output=True, text=True, check=False, timeout=60)
                expect(f"{name}: {line}", ran.returncode == 0, ran.stdout[-500:] + ran.stderr[-500:])

    def check_taken_port(self):
        """Starts the demo on a taken port."""
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            ran = subprocess.run([ROOT / "tools/demo", "--built", self.build, "--plugin", self.plugin, "--listen",
                                  f"127.0.0.1:{taken.getsockname()[1]}"], cwd=ROOT, env=self.environment, capture_output=True,
                                 text=True, check=False, timeout=60)
        expect("a taken port is told with the option that chooses another",
               ran.returncode == 6 and "--listen" in ran.stderr, f"{ran.returncode}\n{ran.stderr}")

    def start_still(self):
        """The same world without ticks: it moves only when something arrives."""
        lines = Lines([self.server, self.world, "--existing", "--plugin", self.plugin, "--listen", "127.0.0.1:0"],
                      env=self.environment)
        until = time.monotonic() + 30
        while subprocess.run([self.muster, "info"], env=self.environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode != 0 and time.monotonic() < until:
            time.sleep(0.05)
        return lines

    def run(self, *arguments, code=0):
        """A `muster` command; its output. With --json: what it says."""
        ran = subprocess.run([self.muster, *arguments], env=self.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        expect(f"muster {' '.join(arguments)} ends with {code}", ran.returncode == code,
               f"{ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        if "--json" in arguments and ran.returncode == 0:
            return json.loads(ran.stdout)
        return ran.stdout if code == 0 else ran.stderr

    def watch(self, *arguments):
        lines = Lines([self.muster, "watch", *arguments], env=self.environment)
        expect("muster watch begins", lines.wait_for(lambda line: line.startswith("watching"), 30), lines.text())
        return lines

    def component(self, entity, name):
        return self.run("show", entity, "--json")["components"][name]


def flat(tree, path=""):
    """{path: (id, components)} of what `muster tree --json` printed."""
    found = {}
    for child in tree.get("children", []):
        name = child["name"] or child["id"]
        found[f"{path}/{name}"] = (child["id"], tuple(child["components"]))
        found |= flat(child, f"{path}/{name}")
    return found


def check_live(demo):
    """On the world that ticks sixty times a second."""
    everything = flat(demo.run("tree", "--json"))
    town = {path: what for path, what in everything.items() if path.startswith("/town")}
    armies = len(everything) - len(town)
    expect("the armies have as many entities as asked for", armies == ENTITIES, armies)
    expect("the town is there as imported", len(town) > 60, len(town))
    for path in ["/red", "/blue", "/red/squad-0", "/blue/squad-3/unit-7/weapon", "/red/tower-0"]:
        expect(f"{path} is there", path in everything)
    text = demo.run("tree", "--depth", "2")
    expect("tree draws it", "squad-0" in text and "town" in text, text[:500])

    tower = "/red/tower-0"
    health = demo.component(tower, "skirmish.Health")["value"]
    seen = demo.watch(tower, "--component", "Health", "--values")
    demo.run("push", tower, "Damage", "amount=5")
    line = seen.wait_for(lambda text: "Health" in text and str(health - 5).removesuffix(".0") in text, 10)
    expect("a second client's watch prints the change of a pushed message as it happens", line, seen.text())
    expect("the message was handled", demo.component(tower, "skirmish.Health")["value"] == health - 5)
    seen.stop()

    seen = demo.watch(tower, "--component", "Transform", "--values")
    demo.run("set", tower, "Transform.position", "1.5,0,-7")
    line = seen.wait_for(lambda text: "Transform" in text and "1.5" in text, 10)
    expect("a second client's watch prints an edit as it happens", line, seen.text())
    position = demo.component(tower, "scene.Transform")["position"]
    expect("the edit is there", position == {"x": 1.5, "y": 0, "z": -7}, position)
    seen.stop()

    seen = demo.watch("/red/squad-0", "--component", "Transform", "--values")
    line = seen.wait_for(lambda text: "Transform" in text, 10)
    expect("a watch sees squads march", line, seen.text())
    seen.stop()

    seen = demo.watch("--pushed", "Died")
    demo.run("push", "/red/squad-2/unit-0", "Damage", "amount=100000")
    line = seen.wait_for(lambda text: "skirmish.Died (pushed)" in text, 10)
    expect("a watch sees who died, which handlers tell each other", line, seen.text())
    seen.stop()

    refusal = demo.run("push", "/nowhere", "Damage", "amount=5", code=1)
    expect("who is not there is named", "nowhere" in refusal, refusal)
    refusal = demo.run("set", tower, "Health.valu", "5", code=1)
    expect("a wrong field is named", "valu" in refusal, refusal)
    return town


def check_reload(demo):
    """The plugin is exchanged while the two armies march."""
    def speed():
        """Of a squad, in metres per second of the world."""
        seen = []
        for _ in range(2):
            position = demo.component("/red/squad-3", "scene.Transform")["position"]
            seen.append((position["x"], position["z"], demo.run("info", "--json")["clock_ns"] / 1e9))
            time.sleep(0.25)
        return math.dist(seen[0][:2], seen[1][:2]) / (seen[1][2] - seen[0][2])

    def armies():
        return {path: what for path, what in flat(demo.run("tree", "--json")).items() if not path.startswith("/town")}

    before, slow = armies(), speed()
    expect("squads march at 4 m/s", 2 < slow < 6, slow)
    demo.plugin.write_bytes(b"half a build")
    refusal = demo.run("reload", code=1)
    expect("a build that is no library is refused by name", f"{demo.plugin}: is not a shared library" in refusal, refusal)
    demo.put_plugin("libskirmish_in_haste.so")
    told = demo.run("reload")
    expect("muster reload tells the builds", told == "skirmish  skirmish 1 in haste, was skirmish 1\n", told)
    fast = speed()
    expect("the squads of the changed build march faster", fast > 2 * slow, f"{slow} -> {fast}")
    expect("the battle is the same one: entities, ids, components", armies() == before)
    expect("it was no restart", demo.run("info", "--json")["plugins"] == ["skirmish: skirmish 1 in haste"])


def check_still(demo):
    """Edits of every kind on a world that stands still, so that what is compared cannot have moved on by itself."""
    demo.run("spawn", "/red/flag", "Transform.position=1,2,3")
    demo.run("rename", "/blue/tower-1", "bastion")
    demo.run("reparent", "/red/flag", "/blue")
    demo.run("set", "/blue/bastion", "Tower.range", "77")
    demo.run("push", "/blue/bastion", "Damage", "amount=5")
    demo.run("destroy", "/red/squad-1/unit-2")
    return {
        "tree": demo.run("tree", "--json"),
        "hash": demo.run("info", "--hash", "--json")["hash"],
        "values": [demo.run("show", path, "--json")["components"]
                   for path in ["/red", "/blue/flag", "/blue/bastion", "/red/squad-1", "/red/squad-0/unit-3/weapon"]],
    }


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(build, pathlib.Path(folder))
        running = []
        try:
            running.append(demo.start())
            town = check_live(demo)
            expect("tools/demo stops on SIGTERM with exit code 0", (code := running[-1].stop()) == 0,
                   f"{code}\n{running[-1].text()}")

            expect("a server with --hz has nothing to say of them", "handlers of muster.Update" not in running[-1].text())
            running.append(demo.start_still())
            tower = demo.component("/red/tower-0", "skirmish.Health")["value"]
            expect("a message's effect is there after a restart", tower == 1995, tower)
            position = demo.component("/red/tower-0", "scene.Transform")["position"]
            expect("an edit is there after a restart", position == {"x": 1.5, "y": 0, "z": -7}, position)
            expect("a server without --hz says that handlers of ticks are not called",
                   "handlers of muster.Update (" in running[-1].text() and "start it with --hz 60" in running[-1].text(),
                   running[-1].text())
            before = check_still(demo)
            after_town = {p: what for p, what in flat(before["tree"]).items() if p.startswith("/town")}
            expect("the town has the same entities, ids, names and tree", after_town == town)
            expect("the server stops on SIGTERM with exit code 0", (code := running[-1].stop()) == 0,
                   f"{code}\n{running[-1].text()}")

            running.append(demo.start_still())
            now = {"tree": demo.run("tree", "--json"), "hash": demo.run("info", "--hash", "--json")["hash"],
                   "values": [demo.run("show", path, "--json")["components"] for path in
                              ["/red", "/blue/flag", "/blue/bastion", "/red/squad-1", "/red/squad-0/unit-3/weapon"]]}
            for part, was in before.items():
                expect(f"the same {part} after SIGTERM and start", now[part] == was,
                       "" if part == "tree" else f"{was}\n{now[part]}")
            running[-1].stop()

            running.append(demo.start())
            seen = demo.watch("/red", "--below", "--component", "Transform", "--values")
            expect("tools/demo goes on with the world it finds", seen.wait_for(lambda text: "Transform" in text, 10))
            seen.stop()
            check_reload(demo)
            demo.check_printed(running[-1])
            expect("it stops again", (code := running[-1].stop()) == 0, f"{code}\n{running[-1].text()}")
            demo.check_taken_port()
        finally:
            for lines in running:
                if lines.process.poll() is None:
                    lines.stop()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    with deadline(450, "the demo"):
        code = main(pathlib.Path(sys.argv[1]).resolve())
    sys.exit(code)
