// Binary schemas that no flatc wrote.
#include <flatbuffers/reflection.h>

#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "everything.h"
#include "schema/load.h"

namespace {

using Builder = flatbuffers::FlatBufferBuilder;
namespace rf = reflection;

struct Part {
  std::string name;
  rf::BaseType base = rf::Int;
  std::uint16_t offset = 0;
  int index = -1;
  rf::BaseType element = rf::None;
  std::uint16_t length = 0;
};
struct Thing {
  std::string name;
  int bytes = 4, align = 4;
  std::vector<Part> parts;
  bool is_struct = true;
};

std::vector<std::byte> forge(const std::vector<Thing>& things, rf::AdvancedFeatures features = {}) {
  Builder b;
  std::vector<flatbuffers::Offset<rf::Object>> objects;
  for (const Thing& thing : things) {
    std::vector<flatbuffers::Offset<rf::Field>> fields;
    std::uint16_t id = 0;
    for (const Part& part : thing.parts)
      fields.push_back(rf::CreateFieldDirect(b, part.name.c_str(),
                                             rf::CreateType(b, part.base, part.element, part.index, part.length), id++,
                                             part.offset));
    objects.push_back(
        rf::CreateObjectDirect(b, thing.name.c_str(), &fields, thing.is_struct, thing.align, thing.bytes));
  }
  std::vector<flatbuffers::Offset<rf::Enum>> enums;
  b.Finish(rf::CreateSchemaDirect(b, &objects, &enums, nullptr, nullptr, 0, nullptr, features), rf::SchemaIdentifier());
  const auto bytes = std::as_bytes(std::span(b.GetBufferPointer(), b.GetSize()));
  return {bytes.begin(), bytes.end()};
}

std::string error_of(const std::vector<std::byte>& bfbs) {
  const auto schema = muster::load_schema(bfbs);
  return schema ? "(loaded)" : schema.error().text();
}

}  // namespace

TEST_CASE("A forged schema is refused with the type and the field", "[hostile]") {
  struct Forged {
    std::vector<Thing> things;
    std::string error;
  };
  const Forged forged = GENERATE(values<Forged>({
      {{{"g.A", 4, 4, {{"s", rf::String}}}},
       "g.A.s: a struct cannot hold a string; make it a table, or use ulong (text) for a text"},
      {{{"g.A", 4, 4, {{"s", rf::Vector}}}},
       "g.A.s: a struct cannot hold a vector; make it a table, or use ulong (text) for a text"},
      {{{"g.A", 4, 4, {{"t", rf::Obj, 0, 1}}}, {"g.T", 0, 1, {}, false}}, "g.A.t: a struct cannot hold a table (g.T)"},
      {{{"g.A", 4, 4, {{"t", rf::Obj, 0, 7}}}}, "g.A.t: its type is not in the schema"},
      {{{"g.A", 4, 4, {{"e", rf::Int, 0, 7}}}}, "g.A.e: its enum is not in the schema"},
      {{{"g.A", 32, 32, {{"x", rf::Int}}}}, "g.A: alignment 32 is over 16"},
      {{{"g.A", 12, 3, {{"x", rf::Int}}}}, "g.A: alignment 3 is not a power of two"},
      {{{"g.A", 4, 0, {{"x", rf::Int}}}}, "g.A: alignment 0 is not a power of two"},
      {{{"g.A", -4, 4, {{"x", rf::Int}}}}, "g.A: size -4 is outside 1..65535 bytes"},
      {{{"g.A", 4, 4, {}}}, "g.A: a struct needs a field"},
      {{{"g.A", 8, 4, {{"x", rf::Int, 0}, {"y", rf::Int, 2}}}}, "g.A.y: is misaligned"},
      {{{"g.A", 8, 4, {{"x", rf::Int, 0}, {"y", rf::Int, 0}}}}, "g.A.y: overlaps the field before it"},
      {{{"g.A", 8, 4, {{"x", rf::Int, 8}}}}, "g.A.x: lies outside the struct"},
      {{{"g.A", 6, 4, {{"x", rf::Int, 0}}}}, "g.A: size is not a multiple of its alignment"},
      {{{"g.A", 64, 4, {{"x", rf::Int, 0}}}}, "g.A: has more padding than its alignment explains"},
      {{{"g.A", 4, 4, {{"x", rf::Array, 0, -1, rf::Int, 0}}}}, "g.A.x: an array needs a length"},
      {{{"g.A", 4, 4, {{"x", rf::Array, 0, -1, rf::Int, 60000}}}}, "g.A.x: lies outside the struct"},
      {{{"g.A", 4, 4, {{"x", rf::Array, 0, -1, rf::Array, 1}}}}, "g.A.x: has a type that is not supported"},
      {{{"g.A", 4, 4, {{"x", static_cast<rf::BaseType>(31)}}}}, "g.A.x: has a type that is not supported"},
      {{{"g.A", 4, 4, {{"a", rf::Obj, 0, 0}}}}, "g.A: contains itself"},
      {{{"g.A", 4, 4, {{"b", rf::Obj, 0, 1}}}, {"g.B", 4, 4, {{"a", rf::Obj, 0, 0}}}}, "g.A: contains itself"},
      {{{"g.A", 4, 4, {{"x", rf::Int}}}, {"g.A", 4, 4, {{"x", rf::Int}}}}, "g.A: declared twice"},
      {{{"g.A;", 4, 4, {{"x", rf::Int}}}}, "a type's name is not an identifier"},
      {{{"g.A", 4, 4, {{"x y", rf::Int}}}}, "g.A: a field's name is not an identifier"},
      {{{"g.A", 8, 4, {{"e", rf::Obj, 0, 1}}}, {"muster.Entity", 8, 4, {{"x", rf::Int}, {"y", rf::Int, 4}}}},
       "muster.Entity: is not the Entity of schema/muster.fbs (8 bytes, aligned to 8)"},
      {{{"g.T", 0, 1, {{"x", rf::Int, 3}}, false}}, "g.T.x: has no place in the table"},
      {{{"g.T", 0, 1, {{"x", rf::Int, 4}, {"y", rf::Int, 4}}, false}}, "g.T.y: shares its place with x"},
      {{{"g.T", 0, 1, {{"x", rf::Union, 4}}, false}}, "g.T.x: unions are not supported"},
  }));
  CHECK(error_of(forge(forged.things)) == forged.error);
}

TEST_CASE("Structs nested deeper than 32 are refused instead of followed", "[hostile]") {
  std::vector<Thing> things;
  for (int i = 0; i < 100; ++i)  // named so that they stay in this order
    things.push_back(
        {"g.S" + std::to_string(100 + i), 4, 4, {i == 99 ? Part{"x", rf::Int} : Part{"inner", rf::Obj, 0, i + 1}}});
  CHECK(error_of(forge(things)) == "g.S133: structs are nested more than 32 deep");
}

TEST_CASE("Structs are exactly as large, as deep and as long in name as is allowed", "[hostile]") {
  const auto bytes = [](int size) {
    return error_of(forge({{"g.A", size, 1, {{"x", rf::Array, 0, -1, rf::UByte, static_cast<std::uint16_t>(size)}}}}));
  };
  CHECK(bytes(65535) == "(loaded)");
  CHECK(error_of(forge({{"g.A", 65536, 1, {{"x", rf::UByte}}}})) == "g.A: size 65536 is outside 1..65535 bytes");
  CHECK(error_of(forge({{"g.A", 0, 1, {{"x", rf::UByte}}}})) == "g.A: size 0 is outside 1..65535 bytes");
  CHECK(error_of(forge({{"g.A", 4, 4, {{"b", rf::Obj, 0, 1}}}, {"g.B", 65536, 1, {{"x", rf::UByte}}}})) ==
        "g.B: size 65536 is outside 1..65535 bytes");
  CHECK(error_of(forge({{"g.A", 16, 16, {{"m", rf::Obj, 0, 1}}},
                        {"g.B", 16, 16, {{"x", rf::Array, 0, -1, rf::Int, 4}}}})) == "(loaded)");
  const auto nested = [](int depth) {
    std::vector<Thing> things;
    for (int i = 0; i <= depth; ++i)
      things.push_back({"g.S" + std::to_string(100 + i),
                        4,
                        4,
                        {i == depth ? Part{"x", rf::Int} : Part{"inner", rf::Obj, 0, i + 1}}});
    return error_of(forge(things));
  };
  CHECK(nested(32) == "(loaded)");
  CHECK(nested(33) == "g.S133: structs are nested more than 32 deep");
  const auto all = [](int last) {
    std::vector<Thing> things;
    for (int i = 0; i < 1024; ++i)
      things.push_back({"g.S" + std::to_string(i), 65535, 1, {{"x", rf::Array, 0, -1, rf::UByte, 65535}}});
    things.push_back({"g.T", last, 1, {{"x", rf::Array, 0, -1, rf::UByte, static_cast<std::uint16_t>(last)}}});
    return error_of(forge(things));
  };
  CHECK(all(1024) == "(loaded)");
  CHECK(all(1025) == "the structs of the schema are over 64 MiB in all");
}

TEST_CASE("A name is letters, figures and underscores, up to 255 of them, in parts of which none is empty",
          "[hostile]") {
  const auto type = [](const std::string& name) { return error_of(forge({{name, 4, 4, {{"x", rf::Int}}}})); };
  const auto field = [](const std::string& name) { return error_of(forge({{"g.A", 4, 4, {{name, rf::Int}}}})); };
  for (const std::string& good :
       {std::string("a"), std::string("_"), std::string("Z9"), std::string("g.h_.A1"), std::string(255, 'a')}) {
    CAPTURE(good);
    CHECK(type(good) == "(loaded)");
  }
  for (const std::string& bad :
       {std::string(), std::string(256, 'a'), std::string("9a"), std::string(".a"), std::string("a."),
        std::string("a..b"), std::string("a.9"), std::string("a-b"), std::string("a b"), std::string("\xc3\xa4")}) {
    CAPTURE(bad);
    CHECK(type(bad) == "a type's name is not an identifier");
    CHECK(field(bad) == "g.A: a field's name is not an identifier");
  }
  CHECK(field(std::string(255, 'a')) == "(loaded)");
  CHECK(field("a.b") == "g.A: a field's name is not an identifier");
}

TEST_CASE("A struct has no more padding than its alignment explains, and its fields lie in it", "[hostile]") {
  const auto of = [](int bytes, int align, std::vector<Part> parts) {
    return error_of(forge({{"g.A", bytes, align, std::move(parts)}}));
  };
  CHECK(of(8, 4, {{"x", rf::Int}, {"y", rf::UByte, 4}}) == "(loaded)");
  CHECK(of(8, 8, {{"x", rf::UByte}}) == "(loaded)");
  CHECK(of(8, 4, {{"x", rf::Int}}) == "g.A: has more padding than its alignment explains");
  CHECK(of(8, 4, {{"x", rf::Int, 4}}) == "(loaded)");
  CHECK(of(8, 4, {{"x", rf::Array, 4, -1, rf::Int, 1}}) == "(loaded)");
  CHECK(of(8, 4, {{"x", rf::Array, 4, -1, rf::Int, 2}}) == "g.A.x: lies outside the struct");
  CHECK(of(4, 2, {{"x", rf::Int}}) == "g.A.x: is misaligned");
  CHECK(of(8, 4, {{"x", rf::Short, 0}, {"y", rf::Short, 1}}) == "g.A.y: is misaligned");
  CHECK(of(4, 2, {{"x", rf::Short, 0}, {"y", rf::Short, 2}}) == "(loaded)");
}

TEST_CASE("Fields of a table have an even place behind its first four bytes", "[hostile]") {
  const auto at = [](std::uint16_t slot) { return error_of(forge({{"g.T", 0, 1, {{"x", rf::Int, slot}}, false}})); };
  CHECK(at(4) == "(loaded)");
  for (const int slot : {0, 2, 3, 5}) CHECK(at(static_cast<std::uint16_t>(slot)) == "g.T.x: has no place in the table");
}

TEST_CASE("Defaults of strings and vectors, which a binary schema loses, are refused", "[hostile]") {
  CHECK(error_of(forge({{"g.T", 0, 1, {{"s", rf::String, 4}}, false}}, rf::DefaultVectorsAndStrings)) ==
        "g.T: a binary schema does not keep defaults of strings and vectors; leave them out");
}

TEST_CASE("Structs of more than 64 MiB in all are refused", "[hostile]") {
  std::vector<Thing> things;
  for (int i = 0; i < 1100; ++i)
    things.push_back({"g.S" + std::to_string(i), 65535, 1, {{"x", rf::Array, 0, -1, rf::UByte, 65535}}});
  CHECK(error_of(forge(things)) == "the structs of the schema are over 64 MiB in all");
}

TEST_CASE("What is no binary schema is refused", "[hostile]") {
  CHECK(error_of({}) == "this is not a binary schema (.bfbs)");
  CHECK(error_of(std::vector<std::byte>(64)) == "this is not a binary schema (.bfbs)");
  const auto good = std::as_bytes(muster::TypeTraits<golden::Health>::schema);
  for (std::size_t length = 16; length < good.size(); length += 97)
    CHECK_FALSE(muster::load_schema(good.first(length)).has_value());
}

TEST_CASE("A mutated schema loads or is refused, and nothing else happens", "[hostile]") {
  const auto good = std::as_bytes(muster::TypeTraits<golden::Health>::schema);
  std::mt19937 random(20240229);
  std::vector<std::byte> bytes;
  int loaded = 0, past_the_verifier = 0;
  bool sound = true;
  constexpr int rounds = 6000;
  for (int round = 0; round < rounds; ++round) {
    bytes.assign(good.begin(), good.end());
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = std::byte(random() & 0xff); break;
        case 1: bytes[at] ^= std::byte(1u << (random() % 8)); break;
        case 2: bytes[at] = std::byte(0xff); break;
        default: bytes[at] = bytes[random() % bytes.size()]; break;
      }
    }
    const auto schema = muster::load_schema(bytes);
    if (schema) {
      ++loaded;
      for (const muster::TypeDescriptor& type : schema->types) {
        sound &= type.default_bytes.size() == type.size;
        for (const std::uint32_t offset : type.entity_offsets) sound &= offset + 8 <= type.size;
        for (const std::uint32_t offset : type.text_offsets) sound &= offset + 8 <= type.size;
      }
    } else if (schema.error().what.find("(.bfbs)") == std::string::npos) {
      ++past_the_verifier;
    }
  }
  INFO(loaded << " loaded, " << past_the_verifier << " refused by the loader of " << rounds);
  CHECK(sound);
  CHECK(loaded > rounds / 20);             // comments and texts take many of the bytes
  CHECK(past_the_verifier > rounds / 20);  // the loader's own checks were reached
}
