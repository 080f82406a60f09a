// Whatever a client that resumes its session asks for, the server goes on, refuses what cannot be,
// and has no watch that was not asked for. Whatever is in a file as "requests", it is either
// refused or the same after it was written again.
//
//   input   | which: 1 byte | a text, or steps: what ResumeWatches names ... |
#define MUSTER_CHECKS_ABORT
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "server/access/resume_key.h"
#include "server/world/journal/applied_requests.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/server/watches/changer.h"
#include "tests/server/watches/follower.h"

namespace {

using namespace muster;
using namespace muster::testing;

constexpr std::size_t resumptions_max = 40;

void read_requests(std::string_view text) {
  AppliedRequests read, again;
  if (!read.read(text)) {
    REQUIRE(read.sessions() == 0);
    return;
  }
  REQUIRE(again.read(read.text()));
  REQUIRE(again.text() == read.text());
}

void show_proof(FuzzInput& input) {
  static const ResumeKey key;
  const auto session = input.take<std::uint64_t>(), user = input.take<std::uint64_t>();
  REQUIRE(!key.accepts(input.rest(), session, user));
  const ResumeKey::Proof proof = key.proof(session, user);
  REQUIRE(key.accepts(proof, session, user));
}

session::Follow any(FuzzInput& input, Changer& changer) {
  session::Follow what = something(changer);
  const auto bits = input.take<std::uint8_t>();
  if (bits & 1) what.rate_max = input.take<float>();
  if (bits & 2) what.entities.push_back(input.take<Entity>());
  if (bits & 4) what.open.push_back(input.take<Entity>());
  if (bits & 8) what.components.push_back(input.take<TypeId>());
  if (bits & 16) what.with.push_back(input.take<TypeId>());
  if (bits & 32) what.watch = input.take<std::uint64_t>();
  return what;
}

void resume(FuzzInput& input) {
  Watched of;
  Changer changer(of.registry, input.take<std::uint64_t>());
  Follower one(of.registry, of.watches, {.data_bytes_max = 2000}, true);
  for (std::size_t i = 0; i < resumptions_max && !input.empty(); ++i) {
    for (std::uint8_t left = input.take<std::uint8_t>() % 8; left > 0; --left) {
      changer.step();
      of.watches.after_flush(0);
    }
    one.lose();
    one.session->connect(std::make_shared<Connection>());
    session::ResumeWatches asked;
    std::set<std::uint64_t> named;
    for (std::uint8_t left = input.take<std::uint8_t>() % 6; left > 0; --left) {
      asked.watches.push_back(input.take<std::uint8_t>() % 8);
      asked.sequences.push_back(input.take<std::uint16_t>());
      asked.follows.push_back(any(input, changer));
      if (asked.watches.back() != 0) named.insert(asked.watches.back());
    }
    const auto resumed = of.watches.resume(one.session, asked, 4, [] { return std::nullopt; });
    REQUIRE(resumed.refused.size() == resumed.reasons.size());
    REQUIRE(resumed.refused.size() == resumed.texts.size());
    REQUIRE(of.watches.count() <= named.size());
    REQUIRE(of.watches.count() <= 4);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  switch (input.take<std::uint8_t>() % 4) {
    case 0: {
      const std::span<const std::uint8_t> text = input.rest();
      read_requests({reinterpret_cast<const char*>(text.data()), text.size()});
      break;
    }
    case 1: show_proof(input); break;
    default: resume(input);
  }
  return 0;
}
