"""What an agent is told about time and runs, and about what it tries."""
import json

from mcp_test import AgentTest
from support import Programs


class Playing(AgentTest):
    def test_a_run_can_begin_with_the_clock_paused(self):
        self.serve("--level", "--hz", "60")
        agent = self.agent()
        begun = self.call(agent, "play")
        self.assertEqual((begun["playing"], begun["paused"]), (True, False))
        self.assertIn("The clock runs", begun["hint"])
        self.assertRegex(str(self.call(agent, "clock", set="step")), "set pause first$")
        self.assertEqual(self.call(agent, "stop")["tick"], 0)
        begun = self.call(agent, "play", paused=True)
        self.assertEqual((begun["playing"], begun["paused"]), (True, True))
        self.assertIn("The clock is paused", begun["hint"])
        self.assertEqual(self.call(agent, "clock", set="step", ticks=3)["tick"], begun["tick"] + 3)

    def test_a_sequence_is_never_older_than_that_of_the_answer_before(self):
        path = self.serve("--level", "--hz", "60")
        person, agent = self.connect(path), self.agent()
        self.call(agent, "edit", edits=[{"op": "create", "name": "orc", "components": {"Health": {}}}])
        begun = self.call(agent, "changes_since")
        stepped = self.call(agent, "clock", set="step", ticks=200)
        self.assertGreaterEqual(stepped["sequence"], begun["sequence"] + 200)
        person.rename("orc", "ork")
        newest, before = begun["sequence"], stepped["sequence"]
        for tool, arguments in [("show", {"entities": ["ork"]}), ("find", {}), ("run_edits", {}), ("changes_since", {"sequence": before}),
                                ("describe_type", {}), ("history", {}), ("clock", {}), ("changes_since", {"sequence": newest})]:
            answer = self.call(agent, tool, **arguments)
            self.assertGreaterEqual(answer["sequence"], before, tool)
            before = answer["sequence"]
            if tool in ("show", "find", "clock"):
                self.assertEqual(answer["tick"], 200)
            if tool == "changes_since":
                self.assertEqual([each["path"] for each in answer["changes"]], ["/ork"])

    def test_an_edit_of_a_run_names_the_step_by_which_it_is_kept(self):
        self.serve("--level", "--limit", "frame_bytes_max=20000")
        agent, heal = self.agent(), {"op": "set_field", "entity": "orc", "field": "Health.value"}
        made = self.call(agent, "edit", edits=[{"op": "create", "name": "orc", "components": {"Health": {}}}])
        self.assertNotIn("step", made)
        self.call(agent, "play", paused=True)
        first = self.call(agent, "edit", label="Heal", edits=[{**heal, "value": 9}])["step"]
        second = self.call(agent, "edit", label="Build", edits=[{"op": "create", "name": f"post {i}"} for i in range(600)])["step"]
        listed = {each["what"]: (each["step"], each["kept"]) for each in self.call(agent, "run_edits")["edits"]}
        self.assertEqual(listed, {"Heal": (first, False), "Build": (second, False)})
        self.call(agent, "run_edits", keep=[first])
        self.assertEqual(self.call(agent, "stop")["kept"], 1)

    def test_after_a_run_an_edit_that_was_kept_is_not_said_to_be_dropped(self):
        path = self.serve("--level")
        agent, edits = self.agent(), {}
        for label in ("one", "two", "three"):
            edits[label] = [{"op": "create", "name": label}]
        self.call(agent, "play")
        steps = {label: self.call(agent, "edit", label=label, edits=made)["step"] for label, made in edits.items()}

        def kept(answer):
            return {each["what"]: each.get("kept") for each in answer["edits"]}
        marked = self.call(agent, "run_edits", keep=[steps["one"]])
        self.assertEqual(kept(marked), {"one": True, "two": False, "three": False})
        self.call(agent, "stop")
        ended = self.call(agent, "run_edits")
        self.assertEqual(kept(ended), {"one": True, "two": None, "three": None})
        self.assertIn("The run has ended", ended["hint"])
        self.assertEqual(kept(self.call(agent, "run_edits", keep=[steps["two"]])), {"one": True, "two": True, "three": None})
        self.assertRegex(str(self.call(agent, "run_edits", keep=[steps["one"]])), "kept already")
        self.connect(path).keep(steps["three"])
        self.assertEqual([each["path"] for each in self.call(agent, "find")["entities"]], ["/one", "/two", "/three"])

    def test_what_is_only_tried_is_not_said_to_be_done(self):
        self.serve()
        agent, create = self.agent(), [{"op": "create", "name": "orc"}, {"op": "create", "name": "elf"}]
        begun = self.call(agent, "info")["sequence"]
        tried = self.call(agent, "edit", edits=create, dry_run=True)
        self.assertEqual((tried["would_apply"], tried["would_create"], tried["would_destroy"], tried["would_change"]), (2, 2, 0, 0))
        self.assertEqual(tried["sequence"], begun + 1)
        self.assertRegex(tried["hint"], "^Nothing has changed.*ids")
        self.call(agent, "edit", edits=create, label="Make two")
        tried = self.call(agent, "undo", dry_run=True)
        self.assertEqual((tried["would_undo"], tried["step"], tried["hint"]), (2, "Make two", "Nothing has changed."))
        self.assertNotIn("done", tried)
        self.assertEqual(self.call(agent, "undo")["done"], 2)
        self.assertEqual(self.call(agent, "redo", dry_run=True)["would_redo"], 2)


class Placing(AgentTest):
    def test_an_entity_is_shown_with_its_place_in_the_world(self):
        self.folder.environment["SKIRMISH_ENTITIES"] = "20"
        self.folder.serve("w.muster", "--plugin", Programs.skirmish, "--hz", "60", "--paused")
        agent = self.agent()
        turned = {"rotation": {"y": 0.70710678, "w": 0.70710678}, "position": {"x": 10}}
        self.call(agent, "edit", edits=[
            {"op": "create", "name": "gate", "as": "gate", "components": {"Transform": {**turned, "scale": {"x": 2, "y": 2, "z": 2}}}},
            {"op": "create", "name": "group", "under": "$gate", "as": "group"},
            {"op": "create", "name": "beam", "under": "$group", "components": {
                "scene.Transform": {"position": {"x": 1, "y": 3}}, "Shape": {"size": {"x": 4, "y": 1, "z": 2}, "center": {"y": 0.5}}}}])
        gate, beam = self.call(agent, "show", entities=["gate", "beam"])["entities"]
        self.assertNotIn("world", gate)  # its Transform says it
        self.assertEqual(beam["world"], {"position": [10, 6, -2], "min": [8, 6, -6], "max": [12, 8, 2]})
        self.assertNotIn("world", self.call(agent, "show", entities=["beam"], components=["Shape"])["entities"][0])

    def test_the_tools_are_explained_with_types_that_the_world_has(self):
        self.folder.serve("w.muster", "--plugin", Programs.skirmish, "--hz", "60", "--paused")
        agent = self.agent()
        tools = self.tools(agent)
        where = tools["find"]["inputSchema"]["properties"]["where"]["description"]
        condition = where.partition("such as ")[2].partition(".  ")[0].partition(". Compares")[0]
        self.assertIn("entities", self.call(agent, "find", where=condition))
        example = tools["edit"]["description"].partition("For example ")[2]
        edits, _ = json.JSONDecoder().raw_decode(example)
        self.assertEqual(set(edits[0]["components"]), {"Transform", "Shape", "Color"})
        self.assertEqual(self.call(agent, "edit", edits=edits)["applied"], len(edits))
        self.assertNotIn("{", "".join(each["description"] for each in tools["find"]["inputSchema"]["properties"].values()))
