"""The bytes of the protocol, without a server."""
import ast
import unittest

from support import PACKAGE, Programs

from muster.batch import EACH, WORLD, Batch, Frames, frame_of, struct_batch, table_batch, timed_batch
from muster.bootstrap import bootstrap
from muster.errors import Mistaken
from muster.ids import Entity, hash32, hash64, nil
from muster.types import Types
from muster.values import Place, as_dict, codec_of


def words(text):
    return bytes.fromhex(text.replace("\n", " "))


def types_of(*files):
    types = Types()
    for file in files:
        types._learn(file.read_bytes())
    return types


class Bytes(unittest.TestCase):
    def test_the_examples_of_the_documents_are_written_and_read(self):
        self.assertEqual(hash32("muster.session.Hello"), 0x9063f717)
        self.assertEqual(hash32("slots[2].count"), 0x98fe4807)
        self.assertEqual(hash64("tower"), 0x4a5f617d6523c182)
        types = types_of(Programs.session)
        beat = types["muster.session.Heartbeat"](number=1, time_ns=2)
        batch = struct_batch(beat._type, [(nil, beat, {})], [], set(), WORLD)
        self.assertEqual(frame_of(batch, 9), words("""
            50000000 00000000 09000000 00000000 40000000 93ba42fa 04000200 01000000 18000000 18000000 00000000 00000000
            01000000 00000000 02000000 00000000 00000000 00000000 00000000 00000000"""))
        destroy = types["muster.Destroy"]()
        batch = struct_batch(destroy._type, [(Entity(12, 1), destroy, {})], [], set(), EACH)
        self.assertEqual(frame_of(batch, 10), words("""
            40000000 00000000 0a000000 00000000 30000000 3b48897c 01000208 01000000 04000000 10000000 00000000 00000000
            0c000000 01000000 00000000 00000000"""))
        [frame] = Frames(1 << 20).take(frame_of(batch, 10), types)
        self.assertEqual((frame.request, frame.batch.target(0), frame.batch.message(0, {})), (10, (12, 1), destroy))

    def test_the_types_that_are_known_before_the_schema_are_those_of_the_server(self):
        server = types_of(Programs.session)
        for name, mine in bootstrap()[0].items():
            theirs = server.find(name)
            self.assertEqual(mine.is_struct, theirs.is_struct)
            found = [(field.name, field.slot, field.kind) for field in theirs.fields]
            known = [(field.name, field.slot, field.kind) for field in mine.fields]
            plain = [(n, s, {"muster.session.Role": "ubyte"}.get(k, k)) for n, s, k in found]
            self.assertEqual(known, plain[:len(known)], name)
        theirs = server.find("muster.session.Fault").field("code").enum.values
        self.assertEqual(bootstrap()[1]["muster.session.FaultCode"].values, theirs)

    def test_every_kind_of_field_is_written_and_read_back(self):
        types = types_of(Programs.words)
        Class, Return, Lambda, Bits = types.words.Class, types.words.Return, types.words.Lambda, types.words.Bits
        inner = types.words.Inner(from_=2.5, is_=[1, -2])
        value = Class(class_=-3, import_=9, pass_=inner, type="name", bits="ice", text="hello", inners=[inner, {}],
                      target=Entity(4, 2), flag=False, wide=12)
        texts = set()
        data = codec_of(value._type).write(value, texts)
        self.assertEqual(texts, {"hello"})
        again = codec_of(value._type).read(data, 0, {hash64("hello"): "hello"})
        self.assertEqual((again.class_, again.type, again.bits, again.text, again.target, again.wide),
                         (-3, Lambda.value_name, Bits.ice, "hello", (4, 2), 12))
        self.assertEqual(again.inners[1], types.words.Inner())
        table = Return(yield_="x", self=[inner], async_=["a", "ü"], number=8, maybe=3, of=value, many=["fire|ice"])
        data = codec_of(table._type).write(table, set())
        again = codec_of(table._type).read(memoryview(data), {hash64("hello"): "hello"})
        self.assertEqual((again.yield_, again.self, again.async_, again.number, again.maybe),
                         ("x", [inner], ["a", "ü"], 8, 3))
        self.assertEqual(as_dict(again.of)["bits"], "ice")
        self.assertEqual(again.many, [Bits.fire | Bits.ice])
        empty = codec_of(table._type).read(memoryview(codec_of(table._type).write(Return(yield_=""), set())), {})
        self.assertEqual((empty.number, empty.maybe, empty.self, empty.of), (-5, None, [], None))

    def test_fields_that_are_not_given_have_the_defaults_of_the_schema(self):
        types = types_of(Programs.words)
        value = types.words.Class()
        self.assertEqual((value.class_, value.type, value.text, value.flag, value.wide),
                         (7, types.words.Lambda.value_value, "a text", True, (1 << 64) - 1))
        self.assertEqual(value.bits, types.words.Bits.fire | types.words.Bits.ice)
        self.assertEqual((value.pass_.from_, value.inners[1].is_), (1.5, [3, 4]))
        value.inners[0].is_[0] = 99
        self.assertEqual(types.words.Class().inners[0].is_, [3, 4], "a default is not shared")

    def test_a_value_that_does_not_fit_is_refused_with_its_place_and_what_is_expected(self):
        types = types_of(Programs.words)
        Class, codec = types.words.Class, codec_of(types.find("words.Class"))
        for fields, said in [(dict(class_="5"), "Class.class: the text '5' is not a number"),
                             (dict(class_=1 << 31), "does not fit into a int"), (dict(class_=1.5), "not a whole number"),
                             (dict(import_=-1), "0 to 255"), (dict(flag=1), "not true or false"), (dict(type="nope"), "nope"),
                             (dict(pass_=dict(from_="x")), "Class.pass.from"), (dict(inners=[{}]), "2 values"),
                             (dict(pass_=dict(from_=1e39)), "float"), (dict(target="tower"), "id of an entity"),
                             (dict(text="\udcff"), "UTF-8"), (dict(pass_=5), "Inner"), (dict(class_=True), "not a number")]:
            with self.assertRaisesRegex(Mistaken, said):
                codec.write(Class(**fields), set())
        with self.assertRaisesRegex(Mistaken, "no field 'clas'; it has class, import"):
            Class(clas=5)
        with self.assertRaises(AttributeError):
            Class().clas = 5

    def test_a_path_names_a_part_of_a_component(self):
        type_ = types_of(Programs.words).find("words.Class")
        place = Place(type_, "inners[1].is[0]")
        self.assertEqual((place.size, place.write(5, set())), (4, b"\5\0\0\0"))
        whole = codec_of(type_).write(codec_of(type_).cls(inners=[{}, dict(is_=[77, 0])]), set())
        self.assertEqual(place.read(whole[place.offset:place.offset + 4], {}), 77)
        for path in ("nope", "inners[2]", "inners[x]", "class.more", "pass[0]", "inners[-1]", ""):
            with self.assertRaises(Mistaken):
                Place(type_, path)

    def test_a_timed_batch_is_read_back(self):
        types = types_of(Programs.game)
        damage = types.game.Damage(amount=4)
        inner = struct_batch(damage._type, [(Entity(3, 1), damage, {})], [], set())
        batch = Batch(timed_batch(inner, 77), types)
        self.assertEqual((batch.argument, batch.inner.message(0, {})), (77, damage))
        say = types.game.Say(text="hi", numbers=[1, 2])
        batch = Batch(table_batch(say._type, [(nil, say), (Entity(1, 1), say)], set()), types)
        self.assertEqual([batch.message(i, {}) for i in range(2)], [say, say])

    def test_the_package_needs_no_newer_python_than_it_says_and_nothing_but_its_library(self):
        import sys
        for file in sorted(PACKAGE.rglob("muster/**/*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))
            for node in ast.walk(tree):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                    [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
                for name in names:
                    self.assertIn(name.partition(".")[0], sys.stdlib_module_names | {"muster"}, file)
