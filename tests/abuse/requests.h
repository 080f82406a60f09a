// Draws well-formed requests: every message and every question that docs/protocol.md lists, sizes from tiny to the limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "messages/batch_builder.h"
#include "messages/session.h"
#include "schema/muster.h"
#include "tests/abuse/knowledge.h"

namespace muster::abuse {

/// What one session has of its own, as far as it knows.
struct Belongings {
  session::Role role = session::Role::view;
  std::vector<Entity> ids;       ///< granted and not used
  std::vector<Entity> entities;  ///< that it made
  std::vector<std::uint64_t> watches;
  std::uint64_t ids_asked = 0;
  bool large = false;  ///< it may make as much as the limits allow; of all sessions few may at a time
  Entity any(Random& random, const Knowledge& known) const;
  Entity own(Random& random, const Knowledge& known) const;
};

/// How often each was drawn, by what it is: for people, and so that none is forgotten.
using DrawnCounts = std::map<std::string, std::uint64_t>;

class Requests {
 public:
  Requests(Random random, Knowledge& known, DrawnCounts& counts) : random_(random), known_(known), counts_(counts) {}

  /// Appends one request: one batch. `request`: the id under which it will be sent. Mostly such as the session's right allows.
  void draw(BatchBuilder& out, Belongings& has, std::uint64_t request);
  Random& random() noexcept { return random_; }

 private:
  struct Kind;
  static const std::vector<Kind>& kinds();

  // questions
  void heartbeat(BatchBuilder& out, Belongings& has);
  void get_schema(BatchBuilder& out, Belongings& has);
  void get_text(BatchBuilder& out, Belongings& has);
  void request_grant(BatchBuilder& out, Belongings& has);
  void list_children(BatchBuilder& out, Belongings& has);
  void resolve(BatchBuilder& out, Belongings& has);
  void find(BatchBuilder& out, Belongings& has);
  void show(BatchBuilder& out, Belongings& has);
  void list_templates(BatchBuilder& out, Belongings& has);
  void get_template(BatchBuilder& out, Belongings& has);
  void read_templates(BatchBuilder& out, Belongings& has);
  void unwatch(BatchBuilder& out, Belongings& has);
  void follow(BatchBuilder& out, Belongings& has);
  void follow_more(BatchBuilder& out, Belongings& has);
  void save(BatchBuilder& out, Belongings& has);
  void begin_trace(BatchBuilder& out, Belongings& has);
  void end_trace(BatchBuilder& out, Belongings& has);
  void get_info(BatchBuilder& out, Belongings& has);
  void get_load(BatchBuilder& out, Belongings& has);
  void list_timers(BatchBuilder& out, Belongings& has);
  void kick(BatchBuilder& out, Belongings& has);
  void remove_of(BatchBuilder& out, Belongings& has);
  void drop_texts(BatchBuilder& out, Belongings& has);
  void list_handlers(BatchBuilder& out, Belongings& has);
  void read_log(BatchBuilder& out, Belongings& has);
  void why_apart(BatchBuilder& out, Belongings& has);
  void get_clock(BatchBuilder& out, Belongings& has);
  void set_presence(BatchBuilder& out, Belongings& has);
  void get_presence(BatchBuilder& out, Belongings& has);
  void set_clock(BatchBuilder& out, Belongings& has);
  void add_schema(BatchBuilder& out, Belongings& has);
  void reload(BatchBuilder& out, Belongings& has);

  // edits
  void create(BatchBuilder& out, Belongings& has);
  void chain(BatchBuilder& out, Belongings& has);
  void crowd(BatchBuilder& out, Belongings& has);
  void destroy(BatchBuilder& out, Belongings& has);
  void set(BatchBuilder& out, Belongings& has);
  void remove(BatchBuilder& out, Belongings& has);
  void set_field(BatchBuilder& out, Belongings& has);
  void set_field_if(BatchBuilder& out, Belongings& has);
  void reparent(BatchBuilder& out, Belongings& has);
  void rename(BatchBuilder& out, Belongings& has);
  void intern(BatchBuilder& out, Belongings& has);
  void define_template(BatchBuilder& out, Belongings& has);
  void spawn(BatchBuilder& out, Belongings& has);
  void merge(BatchBuilder& out, Belongings& has);
  void cancel_timer(BatchBuilder& out, Belongings& has);
  void enable_handler(BatchBuilder& out, Belongings& has);
  void message(BatchBuilder& out, Belongings& has);

  std::vector<Entity> take_ids(Belongings& has, std::uint32_t count);
  std::string word(std::uint32_t bytes_max);
  Text name();
  /// `count` of them at most, some of which are gone or twice there.
  std::vector<Entity> some(const Belongings& has, std::uint32_t count);
  std::vector<std::uint32_t> some(const std::vector<const TypeDescriptor*>& of, std::uint32_t count);
  /// A watch that the session may have; 0 now and then.
  std::uint64_t some_watch(const Belongings& has);
  Create new_child(const Belongings& has);
  SetField field_of(const Belongings& has);
  void value(const TypeDescriptor& type, const Belongings& has, std::byte* at);
  TemplateValue template_value(const TypeDescriptor& type, const Belongings& has);

  Random random_;
  Knowledge& known_;
  DrawnCounts& counts_;
  std::uint64_t request_ = 0;
};

}  // namespace muster::abuse
