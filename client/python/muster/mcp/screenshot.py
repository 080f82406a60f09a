"""A picture of the editor's page, taken by a headless Chromium that is told what to do over a pipe.

The token reaches the browser through the pipe, so it is in no list of processes."""
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from ..errors import Late, Mistaken
from .answers import text_of
from .placement import Placement
from .tool import tool

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ENDED = "no screenshot: the browser ended at once"
SECONDS_MAX = 40
#: Time for the page to receive the world and to draw it, after it has been loaded.
SETTLE_SECONDS = 4
BYTES_MAX = 64 << 20
#: In a narrower window, the page's panels would cover the world.
WIDTH_LAID_OUT_MIN = 1000
FLAGS = ("--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--hide-scrollbars", "--no-first-run", "--disable-gpu-sandbox",
         "--disable-background-networking")

#: Starts a program whose descriptors 3 and 4 are two pipes, as the browser expects.
WITH_PIPES = """
import fcntl, os, sys
high = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for fd, to in zip(high, (3, 4)):
    os.dup2(fd, to)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One browser without a window, and its pipes."""

    def __init__(self, program, folder):
        self._until = time.monotonic() + SECONDS_MAX
        self._number, self._kept = 0, bytearray()
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        command = [sys.executable, "-c", WITH_PIPES, str(commands), str(answers), program, *FLAGS,
                   f"--user-data-dir={folder}"]
        try:
            self._process = subprocess.Popen(command, pass_fds=(commands, answers), stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            os.close(commands)
            os.close(answers)

    def close(self):
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=5)

    def ask(self, method, session=None, **parameters):
        """Returns the result of a command of the Chrome DevTools Protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        try:
            os.write(self._to, json.dumps(message).encode() + b"\0")
        except OSError:
            raise Mistaken(ENDED) from None
        while True:
            answer = self.next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Mistaken(f"the browser refused {method}: {answer['error'].get('message')}")
                return answer["result"]

    def next(self):
        """Returns the next message of the browser."""
        while b"\0" not in self._kept:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise Late(f"the browser took more than {SECONDS_MAX} s")
            data = os.read(self._from, 1 << 16)
            if not data or len(self._kept) > BYTES_MAX:
                raise Mistaken(ENDED)
            self._kept += data
        end = self._kept.index(b"\0")
        message = json.loads(bytes(self._kept[:end]))
        del self._kept[:end + 1]
        return message

    def picture(self, url, width, height):
        """Returns a JPEG of a page, as base64. A page that is to be small is laid out larger, and
        then made smaller."""
        scale = min(1, width / WIDTH_LAID_OUT_MIN)
        laid_out = {"width": round(width / scale), "height": round(height / scale)}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Emulation.setDeviceMetricsOverride", session, **laid_out, deviceScaleFactor=1, mobile=False)
        self.ask("Page.enable", session)
        self.ask("Page.navigate", session, url=url)
        while self.next().get("method") != "Page.loadEventFired":
            pass
        time.sleep(SETTLE_SECONDS)
        clip = {"x": 0, "y": 0, **laid_out, "scale": scale}
        return self.ask("Page.captureScreenshot", session, format="jpeg", quality=60, clip=clip)["data"]


def page_url(where, entity=None):
    """Returns the address of the page, and of an entity that the page frames."""
    named = f"&entity={entity}" if entity is not None else ""
    return f"http://{where.page}/#token={urllib.parse.quote(where.token, safe='')}{named}"


def _browser():
    """Returns the path of a browser. Raises Mistaken if there is none."""
    named = os.environ.get("CHROMIUM")
    found = [path for path in map(shutil.which, [named] if named else BROWSERS) if path]
    if not found:
        raise Mistaken("no screenshot: Chromium is not installed on the machine of this tool (or CHROMIUM names no program)")
    return found[0]


def _check_page(address):
    """Raises Mistaken if the server has no page."""
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
            if answer.status == 200:
                return
    except (urllib.error.URLError, OSError, ValueError):
        pass
    raise Mistaken(f"no screenshot: the server at {address} does not serve the editor's page")


@tool(width={"type": "integer", "minimum": 200}, height={"type": "integer", "minimum": 200},
      frame={"type": "string", "description": "The entity to look at, which is outlined"})
def screenshot(agent, width=640, height=448, frame=""):
    """Returns a picture of the editor's page. It shows the whole level, or with `frame` one entity
    from nearby. As base64, it has about 25,000 to 40,000 characters, and twice as many with a width
    of 1000 and a height of 700. Prefer find and show for values."""
    framed = agent.world.show(agent.world.entity(frame)) if frame else None
    if width > 3000 or height > 3000:
        raise Mistaken("width and height: at most 3000")
    where = agent.world.where
    if not where.page:
        raise Mistaken("no screenshot: this connection is a Unix socket, and the editor's page needs an address")
    program = _browser()
    _check_page(where.page)
    with tempfile.TemporaryDirectory(prefix="muster-page-") as folder, \
            contextlib.closing(Browser(program, folder)) as browser:
        data = browser.picture(page_url(where, framed and framed.entity), width, height)
    said = {**agent.now(), "width": width, "height": height, "shows": "the whole level"}
    if framed is not None:
        place = Placement(agent.world).of(framed)
        said.update(shows=framed.path, entity=str(framed.entity), **({"world": place} if place else {}))
    return [{"type": "image", "data": data, "mimeType": "image/jpeg"}, {"type": "text", "text": text_of(said)}]
