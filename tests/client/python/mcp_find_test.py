"""How an agent finds entities by their values, and learns who it is."""
from mcp_test import AgentTest


class Finding(AgentTest):
    def world_of_units(self):
        person = self.connect(self.serve(), name="Ann")
        camp = person.create("camp")
        with person.transaction() as edit:
            for i in range(10):
                unit = edit.create(f"unit {i}", ("Health", {"value": 10 * i + 0.1}), under=camp if i % 2 else "/")
                edit.set(unit, ("Unit", {"team": ("neutral", "red", "blue")[i % 3], "speed": i / 10, "title": f"the {i}. \"of\" all",
                                         "target": camp if i == 4 else None}))
                if i > 7:
                    edit.set(unit, "Frozen")
        return person, self.agent("--name", "Robo")

    def names(self, agent, **arguments):
        found = self.call(agent, "find", **arguments)
        return [each.get("path", each.get("name")).rpartition("/")[2][5:] for each in found["entities"]]

    def test_conditions_choose_by_values_of_every_kind(self):
        _, agent = self.world_of_units()
        for where, names in [("Health.value<10", "0"), ("Health.value <= 20.1", "0 1 2"), ("Health.value = 20.1", "2"),
                             ("game.Health.value >= 80", "8 9"), ("Health.value > 1 and Health.value<25", "1 2"),
                             ("Unit.team=red AND Health.value>50", "7"), ("Unit.team != neutral and Unit.speed<0.3", "1 2"),
                             ("Unit.team=1", "1 4 7"), ('Unit.title="the 3. \\"of\\" all"', "3"), ("Unit.title~'E 4.'", "4"),
                             ("Unit.target=/camp", "4"), ("Unit.target!=nil", "4"), ("Health.value==0.1", "0"),
                             ("Health.value>1e3", "")]:
            with self.subTest(where=where):
                self.assertEqual(self.names(agent, where=where), names.split())
        self.assertEqual(self.names(agent, where="Unit.team=red", under="camp"), ["1", "7"])
        self.assertEqual(self.names(agent, where="Unit.team=red", children_of="/"), ["4"])
        self.assertEqual(self.names(agent, without=["Frozen"], having=["Unit"], under="camp"), ["1", "3", "5", "7"])
        self.assertEqual(self.names(agent, name="UNIT 8", where="Health.value>80", without=["Path"]), ["8"])
        found = self.call(agent, "find", where="Unit.team=blue and Health.value<30", show=["Health.value"])
        self.assertEqual([each["Health.value"] for each in found["entities"]], [20.1])

    def test_a_condition_that_is_wrong_is_answered_with_a_sentence(self):
        _, agent = self.world_of_units()
        for where, said in [("Health", "'Health' is not a condition such as Health.value<10"), ("Health.value<", "is not a condition"),
                            ("   ", "an empty text is not a condition"), ("Health<5", "whole component.*it has value"),
                            ("Health.value<5 and", "the end of the text is not a condition"),
                            ("Health.value<5 or Health.value>9", "joined only by and, not by 'or'; call once for each"),
                            ("Health.value<ten", "where: Health.value: 'ten' is not a number"), ("Health.value~5", "~ is for texts"),
                            ("Unit.team=green", "where: Unit.team: .*no value 'green'; it has neutral, red, blue"),
                            ("Unit.team<red", "an enum is compared with = or !="), ("Unit.title<5", "or with ~ for a part"),
                            ("Unit.title=the first", "'first' is not expected after a condition; a value with spaces needs quotes"),
                            ("Unit.target=nobody", "no entity is named 'nobody'"), ("Helth.value<5", "does not name a component"),
                            ("Health.valu<5", "no field 'valu'"), ("Path.points<5", "several values.*Path.points\\[0\\]"),
                            ("Damage.amount<5", "is not a component")]:
            with self.subTest(where=where):
                self.assertRegex(str(self.call(agent, "find", where=where)), said)
        for given, hint in [({"where": "Health.value>1e3"}, "0 of 10 entities with Health match."),
                            ({"where": "Health.value>1 and Unit.team=red", "children_of": "/", "name": "unit 0"},
                             "0 of 1 entities with Health and Unit match."),
                            ({"having": ["Unit", "Path"]}, "No entity has Unit and Path."),
                            ({"having": ["Unit"], "without": ["Health"]}, "0 of 10 entities with Unit match."),
                            ({"without": ["Path"], "name": "tower"}, "No name contains 'tower'. Each entity is found by its own "
                             "name, not by those of its parents."),
                            ({"having": ["Path"], "under": "camp"}, "No entity there has Path."),
                            ({"having": ["Unit"], "name": "x"}, "No entity with a name that contains 'x' has Unit.")]:
            self.assertEqual(self.call(agent, "find", **given).get("hint"), hint, given)
        hint = self.call(agent, "find", name="tower")["hint"]
        self.assertEqual(hint, "No name contains 'tower'. Each entity is found by its own name, not by those of its parents.")

    def test_a_type_is_found_by_the_names_of_its_fields_and_by_what_is_said_about_it(self):
        _, agent = self.world_of_units()
        for search, names in [("health", ["game.Health"]), ("TITLE", ["game.Unit"]), ("how much an entity can bear", ["game.Health"]),
                              ("neutral", ["game.Unit"])]:
            listed = self.call(agent, "describe_type", search=search)["types"]
            self.assertEqual([each["type"] for each in listed if each["type"].startswith("game.")], names, search)
        self.assertEqual([each.get("fields") for each in listed], [["team"]])
        self.assertRegex(self.call(agent, "describe_type", search="xyzzy")["hint"], "^No type, field or description contains 'xyzzy'")
        described = self.call(agent, "describe_type", names=["Unit"])
        self.assertRegex(described["hint"], "^A field without default is 0")
        self.assertEqual([each.get("default") for each in described["types"][0]["fields"]], ["neutral", None, None, None])

    def test_an_agent_is_told_who_it_is_and_what_it_may_not_do(self):
        self.serve("--level")
        self.assertEqual(self.call(self.agent("--name", "Robo"), "info")["you"],
                         {"name": "Robo", "user": "the server's own token", "role": "admin"})
        token = self.folder.json("token", "create", "Rita", "--role", "edit")["token"]
        you = self.call(self.agent("--name", "Robo", MUSTER_TOKEN=token), "info")["you"]
        self.assertEqual((you["name"], you["role"], you["forbidden_tools"]), ("Rita", "edit", ["clock", "play", "stop"]))
        self.assertIsInstance(you["user"], int)

    def test_the_end_of_a_run_says_which_edits_were_kept_and_which_were_refused(self):
        self.serve("--level")
        agent = self.agent()
        self.call(agent, "edit", edits=[{"op": "create", "name": "orc", "components": {"Health": {}}}, {"op": "create", "name": "elf"}])
        self.call(agent, "play")
        self.assertEqual(set(self.call(agent, "stop")), {"sequence", "tick", "playing", "kept", "not_kept"})
        self.call(agent, "play")
        self.call(agent, "edit", edits=[{"op": "create", "name": "gate"}])
        self.assertIn("No edit of the run was chosen", self.call(agent, "stop")["hint"])
        self.call(agent, "play")
        self.call(agent, "edit", label="Heal", edits=[{"op": "set_field", "entity": "orc", "field": "Health.value", "value": 9}])
        self.call(agent, "edit", edits=[{"op": "destroy", "entity": "elf"}])
        self.call(agent, "edit", edits=[{"op": "create", "name": "elf"}])
        steps = {each["what"]: each["step"] for each in self.call(agent, "run_edits")["edits"]}
        self.call(agent, "run_edits", keep=[steps["create elf"], steps["Heal"]])
        ended = self.call(agent, "stop")
        self.assertEqual({each["step"] for each in ended["chosen"]}, {steps["create elf"], steps["Heal"]})
        self.assertEqual((ended["kept"], len(ended["not_kept"])), (0, 1))
        self.assertIn("Choose others with run_edits", ended["hint"])
        self.assertEqual(self.call(agent, "run_edits", keep=[steps["Heal"]])["kept"], 1)
