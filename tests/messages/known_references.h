// A reader's or writer's references: one entity and every text but one.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "messages/value_text.h"
#include "schema/hash.h"

namespace test {

/// Knows one entity, "orc", and remembers texts, but for "secret".
class Known : public muster::ValueReferences {
 public:
  muster::ValueResult<muster::Entity> find_entity(std::string_view text) override {
    if (text == "orc") return muster::Entity{7, 1};
    return unknown("no entity " + std::string(text));
  }
  muster::ValueResult<muster::Text> intern(std::string_view text) override {
    if (text == "secret") return unknown("not that one");
    const muster::Text interned{muster::hash64(text)};
    texts[interned.hash] = text;
    return interned;
  }
  std::string text(muster::Text text) override { return texts.at(text.hash); }
  std::map<std::uint64_t, std::string> texts;

 private:
  static std::unexpected<muster::ValueError> unknown(std::string why) {
    return std::unexpected(muster::ValueError{muster::ValueError::Kind::unknown_reference, std::move(why)});
  }
};

}  // namespace test
