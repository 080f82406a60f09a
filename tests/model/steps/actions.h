// One step of a random program, with everything decided: what the model and every registry are to do.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "registry/templates/template_tree.h"
#include "tests/model/handlers/handlers.h"
#include "tests/model/naive/naive_model.h"
#include "tests/support/random.h"

namespace naive {

using muster::test::Random;

enum class Do : std::uint8_t {
  push,
  post,
  post_later,
  push_batch,
  post_batch,
  put,
  flush,
  advance,
  cancel,
  create,
  create_many,
  destroy,
  set,
  remove,
  reparent,
  rename,
  intern,
  grant,
  return_grant,
  subscribe,
  unsubscribe,
  spawn,
  merge,
  define,
  enable,
  dismiss,
  sweep,
  hand_over,
  forget,
  reload,
  // Of wide programs.
  push_several,
  post_several,
  put_several,
  flood,
};
const char* name(Do what);

/// Where a template comes from.
enum class DefineFrom : std::uint8_t { scratch, entity, base };

struct Action {
  Do what = Do::flush;
  Message message = {};                ///< push, post, post_later
  Messages batch = {};                 ///< push_batch, post_batch, put
  std::vector<Messages> batches = {};  ///< push_several, post_several, put_several: one span, none or several of them
  std::uint64_t session = 0, request = 0;
  std::size_t lane = 0;
  Entity target = {}, parent = {}, before = {};
  std::string text = {};
  RowValues rows = {};
  TypeId component = 0;
  std::uint64_t number = 0;  ///< ns, count, timer, the slot of a subscription, or how often `message` is posted (flood)
  std::size_t kind = 0;      ///< of handler_kinds()
  muster::HandlerOptions options = {};
  // Templates: `text` is the name of the one that is spawned or merged, or of the base; `spec` what comes of it.
  std::string name = {};
  muster::NameClash clash = muster::NameClash::refuse;
  DefineFrom how = DefineFrom::scratch;
  std::shared_ptr<TemplateSpec> spec = {}, over = {};
};

constexpr std::size_t lane_count = 3;
constexpr std::uint64_t lane_session(std::size_t lane) { return 100 + lane; }
/// Whose session it is: some have two.
constexpr std::uint64_t user_of(std::uint64_t session) { return session == 0 ? 0 : 1000 + session % 2; }

/// A subscription that is in force.
struct Subscribed {
  std::uint64_t slot = 0, ordinal = 0;
  std::size_t kind = 0;
  std::string name;
  muster::HandlerOptions options;
};

/// What the deciding of a step may look at.
struct Situation {
  const Model& model;
  const std::vector<Subscribed>& subscribed;
  const std::vector<Entity>& granted;  ///< handed out by grants, used since or not
  bool crowd = false, enableable = false;
};

Action decide(Do what, std::uint64_t seed, const Situation& situation);
std::string describe(const Action& action);
std::string describe(const Message& message);

/// The same messages as bytes; one batch where they can be one.
void build(muster::BatchBuilder& builder, const Messages& messages, const muster::TypeTable& types);
muster::DefineTemplate as_message(const TemplateSpec& spec, const muster::TypeTable& types);
muster::TemplateTree as_tree(const TemplateSpec& spec, const muster::TypeTable& types);

}  // namespace naive
