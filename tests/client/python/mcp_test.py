"""`muster mcp`, spoken to as an agent's program speaks to it: one JSON message in each line."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from muster.ids import Entity
from muster.mcp.answers import CHARACTERS_MAX, cut, page, short_number
from muster.mcp.screenshot import page_url
from muster.where import Where
from support import Programs, WorldTest

RECORDED = pathlib.Path(__file__).with_name("agent_session.txt")


class AgentTest(WorldTest):
    def agent(self, *options, **environment):
        """Starts `muster mcp` and begins its session."""
        process = self.folder.start(Programs.muster, "mcp", *options, environment=environment, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.asked = 0
        answer = self.ask(process, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
        self.assertEqual(answer["result"]["serverInfo"]["name"], "muster")
        self.say(process, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return process

    @staticmethod
    def say(process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()

    def ask(self, process, method, **parameters):
        self.asked += 1
        self.say(process, json.dumps({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters}))
        answer = json.loads(process.stdout.readline())
        self.assertEqual(answer["id"], self.asked)
        return answer

    def call(self, process, tool, /, **arguments):
        """Returns the answer of a tool, as an object, or the text of its error."""
        answer = self.ask(process, "tools/call", name=tool, arguments=arguments)
        if "error" in answer:
            return answer["error"]["message"]
        [part] = answer["result"]["content"]
        self.assertLessEqual(len(part["text"]), CHARACTERS_MAX)
        return part["text"] if answer["result"].get("isError") else json.loads(part["text"])

    def tools(self, process):
        return {each["name"]: each for each in self.ask(process, "tools/list")["result"]["tools"]}


class Agents(AgentTest):
    def test_a_recorded_session_is_answered_as_before(self):
        self.serve("--level")
        agent = self.folder.start(Programs.muster, "mcp", "--name", "Robo", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        found = []
        for line in RECORDED.read_text(encoding="utf-8").splitlines():
            if not line.startswith("> "):
                continue
            self.say(agent, line[2:])
            found.append(line)
            if '"id"' in line:
                found.append("< " + agent.stdout.readline().rstrip("\n"))
        agent.stdin.close()
        self.assertEqual(agent.wait(timeout=20), 0)
        text = "\n".join(found) + "\n"
        if os.environ.get("MUSTER_RECORD"):
            RECORDED.write_text(text, encoding="utf-8")
        self.maxDiff = 3000
        self.assertEqual(text, RECORDED.read_text(encoding="utf-8"))

    def test_a_tool_that_the_rights_forbid_is_not_listed_and_not_there(self):
        path = self.serve("--level")
        tokens = {role: self.folder.json("token", "create", role, "--role", role)["token"] for role in ("view", "edit", "control")}
        listed = {role: set(self.tools(self.agent(MUSTER_TOKEN=token))) for role, token in tokens.items()}
        self.assertEqual(listed["edit"] - listed["view"], {"edit", "push", "run_edits", "undo", "redo"})
        self.assertEqual(listed["control"] - listed["edit"], {"clock", "play", "stop"})
        self.assertEqual(len(listed["control"]), 16)
        viewer = self.agent(MUSTER_TOKEN=tokens["view"])
        self.assertEqual(self.call(viewer, "edit", edits=[{"op": "create"}]), "there is no tool 'edit'")
        self.assertEqual(self.connect(path).info().entities, 0)

    def test_the_agent_is_a_user_with_a_name_and_a_history_of_its_own(self):
        path = self.serve()
        token = self.folder.json("token", "create", "Robo", "--role", "edit")["token"]
        person, agent = self.connect(path), self.agent(MUSTER_TOKEN=token)
        orc = person.create("orc", person.types.Health(value=50))
        made = self.call(agent, "edit", label="Weaken", edits=[
            {"op": "set_field", "entity": "orc", "field": "Health.value", "value": 5},
            {"op": "create", "name": "gate"}])
        self.assertEqual(made["applied"], 2)
        self.assertEqual([step.what for step in person.history()], ["create orc"])
        sessions = person.ask("ListSessions")
        self.assertIn(("Robo", "agent"), list(zip(sessions.names, sessions.kinds)))
        person.set_field(orc, "Health.value", 77)
        undone = self.call(agent, "undo")
        self.assertEqual((undone["done"], undone["skipped_count"], undone["skipped"][0]["current"]), (1, 1, "77"))
        self.assertEqual([found.path for found in person.find()], ["/orc"])

    def test_an_agent_sees_what_people_do_and_leaves_locked_entities_alone(self):
        path = self.serve()
        person, agent = self.connect(path, name="Ann"), self.agent("--name", "Robo")
        orc = person.create("orc", person.types.Health(value=50))
        person.set_presence([orc], dragged=[orc], locks=[orc])
        self.assertIn({"name": "Ann", "kind": "python", "selected": ["1:1"], "drags": ["1:1"], "locked": ["1:1"]},
                      self.call(agent, "info")["people"])
        edits = [{"op": "set_field", "entity": "orc", "field": "Health.value", "value": 5}]
        self.assertRegex(self.call(agent, "edit", edits=edits), r"edits\[0\]: Ann is working on 1:1 and has locked it")
        self.assertEqual(person.show(orc)["Health"].value, 50)
        with person.people() as people:
            self.assertEqual(self.call(agent, "edit", edits=edits, ignore_locks=True)["applied"], 1)
            [seen] = people.next(10)
        self.assertEqual((seen.name, seen.selection), ("Robo", [orc]))

    def test_changes_of_others_are_told_since_a_sequence(self):
        path = self.serve()
        person, agent = self.connect(path), self.agent()
        begun = self.call(agent, "changes_since")
        orc = person.create("orc", person.types.Health(value=50))
        tent = person.create("tent")
        first = self.call(agent, "changes_since", sequence=begun["sequence"])
        self.assertEqual([(each["path"], each["changed"]) for each in first["changes"]],
                         [("/tent", ["created"]), ("/orc", ["created"])])
        person.set_field(orc, "Health.value", 51)
        person.destroy(tent)
        second = self.call(agent, "changes_since", sequence=first["sequence"])
        self.assertEqual(second["changes"], [{"entity": str(orc), "path": "/orc", "changed": ["game.Health"]},
                                             {"entity": str(tent), "gone": True}])
        self.assertEqual(self.call(agent, "changes_since", sequence=second["sequence"])["total"], 0)

    def test_a_proposal_in_a_run_is_kept_as_one_step(self):
        path = self.serve("--level")
        person, agent = self.connect(path), self.agent()
        self.call(agent, "edit", edits=[{"op": "create", "name": "orc", "components": {"Health": {}}}])
        self.call(agent, "play")
        for value in (10, 20):
            self.call(agent, "edit", edits=[{"op": "set_field", "entity": "orc", "field": "Health.value", "value": value}])
        proposed = person.run_edits()
        self.assertEqual([edit.what for edit in proposed], ["set game.Health.value of orc"] * 2)
        listed = self.call(agent, "run_edits")["edits"]
        self.assertEqual([each["step"] for each in listed], [edit.step for edit in proposed])
        person.keep(proposed[0].step)
        self.assertEqual(self.call(agent, "stop")["kept"], 1)
        self.assertEqual(person.show("orc")["Health"].value, 20)
        person.undo()
        self.assertEqual(person.show("orc")["Health"].value, 100)

    def test_an_agent_s_mistakes_are_answered_with_sentences_and_the_session_goes_on(self):
        self.serve("--page", "none")
        agent = self.agent()
        self.call(agent, "edit", edits=[{"op": "create", "name": "orc", "components": {"Health": {"value": 50}}}])
        for tool, arguments, said in [
                ("find", {"having": "Health"}, "having: a list is expected, not the text 'Health'"),
                ("find", {"having": ["Healht"]}, "did you mean Health"),
                ("find", {"cursor": "more"}, "is not one that this tool has returned"),
                ("find", {"cursor": 5}, "cursor: a text is expected, not 5"),
                ("find", {"nme": "x"}, "find has no argument 'nme'; it has name, having"),
                ("show", {}, "show needs the argument 'entities'"),
                ("show", {"entities": ["nothing"]}, "no entity is named 'nothing'"),
                ("show", {"entities": [5]}, r"entities\[0\]: a text is expected, not 5"),
                ("edit", {"edits": []}, "the list is empty"),
                ("edit", {"edits": [{"op": "create"}, {"op": "paint"}]}, r"edits\[1\]: op: 'paint' is not one of create"),
                ("edit", {"edits": [{"op": "set", "entity": "orc", "components": {"Health": {"value": "50"}}}]},
                 r"edits\[0\]: game.Health.value: the text '50' is not a number; a float is expected"),
                ("edit", {"edits": [{"op": "rename", "entity": "orc"}]}, "rename needs 'name'"),
                ("edit", {"edits": [{"op": "rename", "entity": "orc", "name": 5}]}, "5 is not a text"),
                ("edit", {"edits": [{"op": "destroy", "entity": "$gate"}]}, 'no edit before this one has "as": "gate"'),
                ("edit", {"edits": [{"op": "destroy", "entity": "9:9"}]}, r"edits\[0\]: .*dead"),
                ("edit", {"edits": [{"op": "set_field", "entity": "orc", "field": "Health.value", "value": 1, "expect": 9}]},
                 r"edits\[0\]: .* the value is 50; nothing was applied"),
                ("edit", {"edits": [{"op": "set_field", "entity": "orc", "field": "Health", "value": 1}]}, "use the op set"),
                ("push", {"to": ["orc"], "message": "Damage", "fields": {"amount": [1]}}, "not a number"),
                ("push", {"to": ["orc"], "message": "Damage", "fields": {"amont": 1}}, "no field 'amont'; it has amount"),
                ("clock", {"set": "step", "ticks": 0}, "ticks: at least 1 is expected, not 0"),
                ("clock", {"set": "faster"}, "not one of pause, resume, step"),
                ("clock", {"speed": 2}, "speed for set resume"),
                ("undo", {"dry_run": 1}, "dry_run: true or false is expected, not 1"),
                ("screenshot", {}, "no screenshot: the server at .* does not serve the editor's page"),
                ("screenshot", {"frame": "nothing"}, "no entity is named 'nothing'"),
                ("templates", {"name": "nothing"}, "nothing"), ("redo", {}, "redo"), ("explode", {}, "no tool 'explode'")]:
            with self.subTest(tool=tool, arguments=arguments):
                self.assertRegex(str(self.call(agent, tool, **arguments)), said)
        self.assertEqual(self.call(agent, "find", show=["Health.value"])["entities"],
                         [{"entity": "1:1", "path": "/orc", "Health.value": 50}])
        for line, code in [("{", -32700), ("[]", -32600), ('{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601),
                           ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', -32602),
                           ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":[]}}', -32602),
                           ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":[1]}}', -32602),
                           ("[" * 100_000, -32700)]:
            self.say(agent, line)
            self.assertEqual(json.loads(agent.stdout.readline())["error"]["code"], code)
        self.assertEqual(self.ask(agent, "ping")["result"], {})

    def test_the_largest_answers_of_a_large_world_are_short(self):
        self.folder.environment["SKIRMISH_ENTITIES"] = "100000"
        self.folder.serve("w.muster", "--plugin", Programs.skirmish, "--hz", "60", "--paused")
        agent = self.agent("--timeout", "60")
        found = self.call(agent, "find")
        self.assertGreater(found["total"], 99_000)
        pages = 1
        while "cursor" in found and pages < 4:
            rest = self.call(agent, "find", cursor=found["cursor"])
            self.assertNotEqual(rest["entities"][0], found["entities"][0])
            self.assertEqual(int(rest["cursor"]), int(found["cursor"]) + len(rest["entities"]))
            found, pages = rest, pages + 1
        found = self.call(agent, "find", show=["Squad", "March", "Transform"], having=["Squad"])
        self.assertRegex(found["hint"], r"or ask for less: show accepts single fields, such as Squad\.\w+")
        found = self.call(agent, "find", show=["Transform.position"], having=["Squad"])
        self.assertRegex(found["hint"], r"or ask for less\.$")
        self.call(agent, "find", children_of="/red")
        chosen = self.call(agent, "find", where="Squad.team=blue and Squad.number<500", show=["Squad", "Transform"])
        self.assertEqual(chosen["total"], 500)
        self.assertIn("cursor", self.call(agent, "find", where="Health.value>0", cursor="1000"))
        self.assertEqual(self.call(agent, "find", cursor="999999")["entities"], [])
        self.call(agent, "show", entities=["/red/squad-0"] * 500)
        self.call(agent, "describe_type")
        types = [each["type"] for each in self.call(agent, "describe_type")["types"]]
        self.call(agent, "describe_type", names=types)
        before = self.call(agent, "changes_since")
        self.call(agent, "clock", set="step", ticks=30)
        changed = self.call(agent, "changes_since", sequence=before["sequence"])
        self.assertGreater(changed["total"], 1000)
        self.assertIn("cursor", changed)
        edits = [{"op": "create", "name": f"a rather long name of an entity, number {i}"} for i in range(2000)]
        made = self.call(agent, "edit", edits=edits)
        self.assertEqual((made["applied"], made["created_count"]), (2000, 2000))

    def test_an_agent_s_session_goes_on_after_its_server_was_killed(self):
        path = self.serve()
        agent, create = self.agent("--timeout", "1"), {"op": "create", "name": "orc"}
        self.call(agent, "edit", edits=[create])
        begun = self.call(agent, "changes_since")
        person = self.connect(path, resumes=True)
        person.wait_durable(person.rename("orc", "ork"))
        number = [each.session for each in person.presence() if each.kind == "agent"]
        self.server.kill()
        self.server.wait()
        self.assertRegex(self.call(agent, "edit", edits=[create]), "^the server has been away for 1 s")
        self.serve()
        self.assertEqual(self.call(agent, "edit", edits=[{**create, "name": "again"}])["applied"], 1)
        found = self.call(agent, "find")
        self.assertEqual([each["path"] for each in found["entities"]], ["/ork", "/again"])
        self.assertEqual([each.session for each in person.presence() if each.kind == "agent"], number)
        changes = self.call(agent, "changes_since", sequence=begun["sequence"])
        self.assertIn("Changes before the watch began, or that are too old, are not included.", changes["hint"])
        person.rename("ork", "orc")
        changes = self.call(agent, "changes_since", sequence=changes["sequence"])
        self.assertEqual([each["path"] for each in changes["changes"]], ["/orc"])

    def test_an_agent_begins_another_session_if_the_first_one_is_not_kept(self):
        self.serve("--limit", "resume_ns_max=50000000")
        agent, create = self.agent("--timeout", "2"), {"op": "create", "name": "orc"}
        self.call(agent, "edit", edits=[create])
        self.folder.stop(self.server)
        self.assertRegex(self.call(agent, "edit", edits=[create]), "look before you repeat it|nothing was sent|Nothing was done")
        self.assertRegex(self.call(agent, "find"), "no (server|world) is (running|served) .* Nothing was done, and the next call tries again")
        self.serve()
        self.assertEqual([each["path"] for each in self.call(agent, "find")["entities"]], ["/orc"])

    def test_a_world_that_nobody_serves_is_reported_before_anything_is_read(self):
        said = self.folder.error(3, "mcp", "--world", "nothing.muster")
        self.assertEqual(said, "no server is running for nothing.muster, and there is no such world")

    def test_a_locale_that_is_not_utf_8_changes_nothing(self):
        self.serve()
        agent = self.folder.start(Programs.muster, "mcp", "--name", "Röbo", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
        self.asked = 0
        made = self.call(agent, "edit", edits=[{"op": "create", "name": "Тор ü", "components": {"Unit": {"title": "日本"}}}])
        self.assertEqual(made["created"][0]["name"], "Тор ü")
        self.assertEqual(self.call(agent, "find", where='Unit.title="日本"', name="Тор")["entities"][0]["path"], "/Тор ü")
        self.assertEqual(self.call(agent, "info")["you"]["name"], "Röbo")

    def test_the_agent_s_program_takes_no_module_of_the_current_folder(self):
        self.serve()
        for name in ("json.py", "muster.py"):
            (self.path / name).write_text("raise SystemExit('a module of the current folder')")
        self.assertEqual(self.call(self.agent(), "find")["total"], 0)


class Answers(unittest.TestCase):
    def test_a_number_has_the_fewest_digits_that_read_back(self):
        for value, is_float, said in [(0.10000000149011612, True, 0.1), (16777217.0, False, 16777217), (1 / 3, False, 1 / 3),
                                      (3.4028234663852886e38, True, 3.4028235e38), (0.3333333432674408, True, 0.33333334),
                                      (5.0, True, 5), (-0.0, True, -0.0), (float("nan"), True, "nan"), (float("inf"), True, "inf"),
                                      (1e300, False, 1e300)]:
            found = short_number(value, is_float)
            self.assertEqual((repr(found)), repr(said))

    def test_a_text_that_was_cut_ends_in_an_ellipsis(self):
        self.assertEqual([cut("a word", 6), cut("a word", 5), cut("a word", 3), cut("", 1)], ["a word", "a wo…", "a…", ""])

    def test_a_picture_of_an_entity_is_one_of_the_page_at_the_entity_s_address(self):
        where = Where("h:7717/a town", "a+b&c")
        self.assertEqual(page_url(where), "http://h:7717/w/a%20town/#token=a%2Bb%26c")
        self.assertEqual(page_url(where, Entity(12, 3)), "http://h:7717/w/a%20town/#token=a%2Bb%26c&entity=12:3")

    def test_rows_are_cut_at_the_limit_and_the_cursor_goes_on_there(self):
        rows = [{"n": i, "text": "ü\"" * 20} for i in range(1000)]
        seen, offset = [], 0
        while True:
            text = page({"sequence": 5}, "rows", iter(rows[offset:]), len(rows), offset, limit=2000)
            self.assertLessEqual(len(text), 2000)
            answer = json.loads(text)
            seen += answer["rows"]
            if "cursor" not in answer:
                break
            offset = int(answer["cursor"])
        self.assertEqual(seen, rows)
        for row in ({"n": 1, "text": "\"" * 9000}, {"n": 1, "more": [{"a": "x" * 300}] * 99}, "z" * 9000, {"a\n" * 999: 1}):
            text = page({}, "rows", iter([row, row]), 2, limit=2000)
            self.assertLessEqual(len(text), 2000)
            self.assertEqual(json.loads(text)["cursor"], "1")
            self.assertIn("shortened", json.loads(text)["rows"][0])


if __name__ == "__main__":
    sys.exit("run.py runs the tests")
