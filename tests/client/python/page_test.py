"""Runs the snippets of docs/client-python.md, in their order."""
import contextlib
import io
import os
import re
import sys
import warnings

import muster
from support import ROOT, WorldTest

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A comment after a call of print: the page says that this is printed.
SAID = re.compile(r"print\(.*\) {2,}# (.*)$", re.MULTILINE)


class Page(WorldTest):
    def test_every_snippet_of_the_page_does_what_the_page_says(self):
        self.serve("--level", "--hz", "60", world="level.muster")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.path)
        text = (ROOT / "docs/client-python.md").read_text(encoding="utf-8")
        blocks, names, compared = BLOCK.findall(text), {}, 0
        self.assertGreater(len(blocks), 8)
        warnings.simplefilter("ignore", ResourceWarning)
        for block in blocks:
            printed = io.StringIO()
            if names.get("world") is not None and names["world"].ended is not None:
                names["world"] = self.connect("level.muster")  # a snippet before has closed it
            with contextlib.redirect_stdout(printed):
                exec(compile(block, f"client-python.md: {block[:40]}", "exec"), names)
            said = [re.split(r": |, ", each)[0] for each in SAID.findall(block)]
            lines = printed.getvalue().split("\n")
            for each in said:
                if re.match(r"[0-9\['A-Za-z_]", each) and not each.startswith(("ten ticks", "as plain", "has every", "everyone", "those who")):
                    compared += 1
                    self.assertIn(each, lines, block)
        self.assertGreater(compared, 5)
        names["world"].close()

    def test_the_page_names_every_method_of_the_client_once_at_least(self):
        text = (ROOT / "docs/client-python.md").read_text(encoding="utf-8")
        methods = {name for name in vars(muster.Client) if not name.startswith("_")}
        missing = sorted(name for name in methods if not re.search(rf"\b{name}\b", text))
        self.assertEqual(missing, [])


if __name__ == "__main__":
    sys.exit("run.py runs the tests")
