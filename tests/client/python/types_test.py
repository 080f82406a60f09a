"""The classes that a client makes of the world's schema."""
import muster
from support import Programs, WorldTest


class Types(WorldTest):
    def test_a_world_that_learns_types_while_a_script_runs_has_them_at_once(self):
        path = self.serve()
        reader, writer = self.connect(path), self.connect(path)
        with reader.watch() as watch:
            self.assertNotIn("words.Class", reader.types)
            with self.assertRaisesRegex(AttributeError, "no type or namespace 'words'"):
                reader.types.words
            added = writer.ask("AddSchema", bytes=Programs.words.read_bytes())
            self.assertGreater(added.types, 2)
            Class = writer.types.words.Class
            made = writer.create("x", Class(class_=5, text="new", bits="ice"))
            watch.catch_up()
            value = watch[made][reader.types.words.Class]
            self.assertEqual((value.class_, value.text, value.type.name), (5, "new", "value_value"))
            self.assertEqual(value, writer.show(made)[Class])
            self.assertEqual([found.entity for found in reader.find(having="Class")], [made])

    def test_names_that_are_words_of_python_get_an_underscore(self):
        world = self.world()
        world.ask("AddSchema", bytes=Programs.words.read_bytes())
        Class = world.types.words.Class
        made = world.create("x", Class(class_=1, import_=2, pass_=dict(from_=3, is_=[4, 5])))
        world.set_field(made, "Class.pass.is[1]", 50)
        world.set_field(made, "words.Class.pass", dict(from_=9, is_=[1, 2]), expect=dict(from_=3, is_=[4, 50]))
        self.assertEqual(world.show(made)[Class].pass_.is_, [1, 2])
        self.assertEqual(muster.as_dict(world.show(made)[Class])["pass"], {"from": 9, "is": [1, 2]})
        with world.events(world.types.words.Return) as events:
            world.push(made, world.types.words.Return(yield_="y", async_=["b"], of=Class()))
            value = events.next(10).value
        self.assertEqual((value.yield_, value.async_, value.of.class_), ("y", ["b"], 7))

    def test_types_are_found_by_their_names(self):
        world = self.world()
        types = world.types
        self.assertIs(types["game.Health"], types.Health)
        self.assertIs(types.game.Health, types["Health"])
        self.assertIn("game.Unit", types.components)
        self.assertEqual(set(types.messages) & {"game.Say", "muster.Update"}, {"game.Say"})
        self.assertIn("Health", dir(types.game))
        self.assertIn("game", dir(types))
        self.assertEqual(str(types.game.Team.red), "red")
        for call, said in [(lambda: types["Healht"], "did you mean Health"), (lambda: types[5], "0x00000005"),
                           (lambda: types[None], "not a type")]:
            with self.assertRaisesRegex(muster.Mistaken, said):
                call()
        self.assertEqual(repr(types.Health(value=5)), "Health(value=5)")

    def test_a_value_of_another_world_is_taken_if_its_layout_is_the_same(self):
        one, other = self.world(), self.connect(self.serve(world="other.muster"))
        made = other.create("x", one.types.Health(value=5))
        self.assertEqual(other.show(made)["Health"], one.types.Health(value=5))
        self.assertEqual(other.show(made)[one.types.Health].value, 5)
