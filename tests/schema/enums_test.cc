// Enums of every width in structs and tables, with negative values and the highest bit: what we write, read and say of them is
// what flatc's own classes do (namespaces led by flat_).
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "schema/load.h"
#include "schema/session.h"
#include "tests/schema/enums.h"
#include "tests/schema/enums_generated.h"
#include "tests/schema/run_schemac.h"

namespace {

using namespace enums;

const muster::TypeDescriptor& type(const muster::Schema& schema, std::string_view name) {
  for (const muster::TypeDescriptor& each : schema.types)
    if (each.name == name) return each;
  throw std::runtime_error("no type " + std::string(name));
}
const muster::FieldDescriptor& field(const muster::TypeDescriptor& type, std::string_view name) {
  for (const muster::FieldDescriptor& each : type.fields)
    if (each.name == name) return each;
  throw std::runtime_error("no field " + std::string(name));
}

template <class A, class B>
bool same(A ours, B theirs) {
  return static_cast<std::uint64_t>(ours) == static_cast<std::uint64_t>(theirs);
}

/// Every field of a Note by name, ours beside flatc's.
template <class Ours>
void check_same(const Ours& ours, const flat_enums::Note& theirs) {
  CHECK(same(ours.byte_least(), theirs.byte_least()));
  CHECK(same(ours.ubyte_most(), theirs.ubyte_most()));
  CHECK(same(ours.short_least(), theirs.short_least()));
  CHECK(same(ours.short_minus(), theirs.short_minus()));
  CHECK(same(ours.ushort_most(), theirs.ushort_most()));
  CHECK(same(ours.int_least(), theirs.int_least()));
  CHECK(same(ours.int_minus(), theirs.int_minus()));
  CHECK(same(ours.uint_high(), theirs.uint_high()));
  CHECK(same(ours.uint_most(), theirs.uint_most()));
  CHECK(same(ours.long_least(), theirs.long_least()));
  CHECK(same(ours.long_minus(), theirs.long_minus()));
  CHECK(same(ours.long_most(), theirs.long_most()));
  CHECK(same(ours.ulong_high(), theirs.ulong_high()));
  CHECK(same(ours.ulong_most(), theirs.ulong_most()));
  CHECK(same(ours.flags8(), theirs.flags8()));
  CHECK(same(ours.flags16(), theirs.flags16()));
  CHECK(same(ours.flags32(), theirs.flags32()));
  CHECK(same(ours.flags64(), theirs.flags64()));
  CHECK(same(ours.flag64(), theirs.flag64()));
  CHECK(same(ours.plain(), theirs.plain()));
  CHECK(ours.number() == theirs.number());
  CHECK(ours.high_number() == theirs.high_number());
  CHECK(ours.below() == theirs.below());
  CHECK(ours.maybe().has_value() == theirs.maybe().has_value());
}

const flat_enums::Note& flat(const std::vector<std::byte>& bytes) {
  return *flatbuffers::GetRoot<flat_enums::Note>(bytes.data());
}

}  // namespace

TEST_CASE("a table's absent enums read as flatc's class reads them, whatever their width and default", "[enums]") {
  const std::vector<std::byte> empty = muster::encode(Note{});
  check_same(NoteView::from(empty), flat(empty));
  CHECK(NoteView::from(empty).ulong_most() == Ulong::most);
  CHECK(NoteView::from(empty).ulong_high() == Ulong::high);
  CHECK(NoteView::from(empty).flags64() == (Flags64::a | Flags64::b | Flags64::top));
  CHECK(NoteView::from(empty).number() == std::numeric_limits<std::uint64_t>::max());
  CHECK(Note{}.ulong_most == Ulong::most);
  CHECK(Note{}.high_number == 1ull << 63);
  CHECK(NoteView::from(empty).decode() == Note{});
}

TEST_CASE("a table's enums come back from its bytes at both ends of each width, for us and for flatc", "[enums]") {
  Note least{
      .byte_least = Byte::zero, .ubyte_most = Ubyte::zero, .short_least = Short::zero, .short_minus = Short::least};
  least.ushort_most = Ushort::zero;
  least.int_minus = Int::zero;
  least.uint_most = Uint::zero;
  least.long_most = Long::least;
  least.ulong_most = Ulong::zero;
  least.ulong_high = Ulong::zero;
  least.flags8 = {};
  least.flags64 = {};
  least.number = 0;
  least.high_number = 0;
  Note most{.byte_least = Byte::most, .short_least = Short::most, .int_least = Int::most, .uint_high = Uint::most};
  most.long_minus = Long::most;
  most.plain = Ulong::most;
  most.maybe = Ulong::most;
  most.all = {Ulong::high, Ulong::zero, Ulong::most};
  most.row = Row{.ulong_high = Ulong::most};
  for (const Note& note : {least, most, Note{}}) {
    const std::vector<std::byte> bytes = muster::encode(note);
    CHECK(NoteView::from(bytes).decode() == note);
    check_same(NoteView::from(bytes), flat(bytes));
  }
}

TEST_CASE("an enum with a native_type is that type, whose size, names and values the header checks", "[enums]") {
  STATIC_REQUIRE(std::is_same_v<muster::session::Role, muster::RemoteRight>);
  const ::test::Folder folder;
  ::test::write_file(folder / "teams.fbs",
                     "namespace game; enum Team : ubyte (native_type: \"own::Team\") { red, blue = 7 } "
                     "struct Banner { team:Team; }");
  const ::test::Said said = ::test::run_schemac_alone(folder, "teams.fbs -o teams.h");
  CHECK(said.errors.empty());
  REQUIRE(said.code == 0);
  const std::string header = ::test::read_file(folder / "teams.h");
  CHECK(header.find("enum class") == std::string::npos);
  CHECK(header.find("using Team = ::own::Team;\n"
                    "static_assert(sizeof(Team) == sizeof(std::uint8_t));\n"
                    "static_assert(Team::red == static_cast<Team>(0));\n"
                    "static_assert(Team::blue == static_cast<Team>(7));\n") != std::string::npos);
  CHECK(header.find("case Team::blue: return \"blue\";") != std::string::npos);
}

TEST_CASE("the binary schema that travels says a table's default as the .fbs does", "[enums]") {
  const auto schema = muster::load_schema(std::as_bytes(muster::TypeTraits<Note>::schema));
  REQUIRE(schema);
  const muster::TypeDescriptor& note = type(*schema, "enums.Note");
  CHECK(field(note, "byte_least").default_text == "least");
  CHECK(field(note, "int_minus").default_text == "minus");
  CHECK(field(note, "long_least").default_text == "least");
  CHECK(field(note, "long_most").default_text == "most");
  CHECK(field(note, "ulong_high").default_text == "high");
  CHECK(field(note, "ulong_most").default_text == "most");
  CHECK(field(note, "flag64").default_text == "top");
  CHECK(field(note, "flags64").default_text == "9223372036854775811");
  CHECK(field(note, "number").default_text == "18446744073709551615");
  CHECK(field(note, "high_number").default_text == "9223372036854775808");
  CHECK(field(note, "plain").default_text.empty());
  CHECK(field(note, "maybe").optional);
  // What else is known of such a field is kept.
  CHECK(field(note, "ulong_most").doc == "A comment, which is kept.");
  CHECK(field(note, "ulong_most").was == "ulong_greatest");
  CHECK(field(note, "ulong_most").enumeration->name == "enums.Ulong");
}

TEST_CASE("a struct's enums have their defaults, negative ones and the highest bit too", "[enums]") {
  const auto schema = muster::load_schema(std::as_bytes(muster::TypeTraits<Row>::schema));
  REQUIRE(schema);
  const Row row;
  const std::vector<std::byte>& bytes = type(*schema, "enums.Row").default_bytes;
  REQUIRE(bytes.size() == sizeof row);
  CHECK(std::memcmp(&row, bytes.data(), sizeof row) == 0);
  CHECK(row.byte_least == Byte::least);
  CHECK(row.short_minus == Short::minus);
  CHECK(row.int_minus == Int::minus);
  CHECK(row.uint_most == Uint::most);
  CHECK(row.long_least == Long::least);
  CHECK(row.long_minus == Long::minus);
  CHECK(row.ulong_high == Ulong::high);
  CHECK(row.ulong_most == Ulong::most);
  CHECK(row.flags8 == (Flags8::a | Flags8::top));
  CHECK(row.flags64 == (Flags64::a | Flags64::b | Flags64::top));
  CHECK(row.pair[0] == Long::least);
  CHECK(row.pair[1] == Long::most);
  CHECK(row.ulongs[1] == Ulong::most);
  const auto& theirs = reinterpret_cast<const flat_enums::Row&>(row);
  CHECK(same(row.long_minus, theirs.long_minus()));
  CHECK(same(row.ulong_most, theirs.ulong_most()));
  CHECK(same(row.flags32, theirs.flags32()));
  CHECK(same(row.pair[0], theirs.pair()->Get(0)));
}

TEST_CASE("an enum's numbers are those of the schema, and each has its name", "[enums]") {
  STATIC_REQUIRE(static_cast<std::int8_t>(Byte::least) == -128);
  STATIC_REQUIRE(static_cast<std::int16_t>(Short::least) == -32768);
  STATIC_REQUIRE(static_cast<std::int32_t>(Int::least) == std::numeric_limits<std::int32_t>::min());
  STATIC_REQUIRE(static_cast<std::uint32_t>(Uint::high) == 1u << 31);
  STATIC_REQUIRE(static_cast<std::int64_t>(Long::least) == std::numeric_limits<std::int64_t>::min());
  STATIC_REQUIRE(static_cast<std::int64_t>(Long::minus) == -4294967297);
  STATIC_REQUIRE(static_cast<std::uint64_t>(Ulong::high) == 1ull << 63);
  STATIC_REQUIRE(static_cast<std::uint64_t>(Ulong::most) == ~0ull);
  STATIC_REQUIRE(static_cast<std::uint64_t>(Flags64::top) == 1ull << 63);
  STATIC_REQUIRE(name_of(Long::least) == "least");
  STATIC_REQUIRE(name_of(Ulong::most) == "most");
  STATIC_REQUIRE(name_of(Flags64::top) == "top");
  STATIC_REQUIRE(any(Flags64::top));
  STATIC_REQUIRE_FALSE(any(Flags64::top & ~Flags64::top));
}

TEST_CASE("a text's default of the highest bit is refused like any other", "[enums]") {
  const test::Folder folder;
  for (const char* number : {"1", "9223372036854775808", "18446744073709551615"}) {
    test::write_file(folder / "g.fbs", "include \"schema/muster.fbs\"; namespace g; table A { v:ulong = " +
                                           std::string(number) + " (text); }");
    const test::Said said = test::run_schemac(folder, "--check g.fbs");
    CHECK(said.code == 1);
    CHECK(said.errors.find("g.A.v: a text in a table has no default but empty") != std::string::npos);
  }
}
