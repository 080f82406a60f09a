// Two worlds that differ only in what a user may not see send this user the same bytes. Everything
// is sent through the door's protocol, the desk and its watches, with streams in memory.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "registry/host.h"
#include "server/door/session_protocol.h"
#include "tests/server/desk/hand_desk.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"
#include "tests/support/seeds.h"

namespace two_worlds_test {

using namespace muster;
using namespace muster::testing;
using test::Random;

constexpr Entity nobody{0xfffffff0u, 1};
constexpr std::uint32_t ids_each = 400;
const char* const names[] = {"a", "door", "secret", "cellar", "vault", "town", "h1", "h2", "h3"};

Text text_of(std::string_view text) { return Text{hash64(text)}; }

/// Writes zeros over the sequences in a message to a client.
void clear_sequences(const TypeDescriptor& type, std::byte* message) {
  for (const FieldDescriptor& field : type.fields) {
    if (field.kind != FieldKind::uint64) continue;
    if (std::set<std::string>{"sequence", "durable_through", "after", "through"}.count(field.name) == 0) continue;
    std::byte* at = message + field.offset;
    if (type.is_table) {
      std::uint32_t root;
      std::memcpy(&root, message, sizeof root);
      std::int32_t back;
      std::memcpy(&back, message + root, sizeof back);
      const std::byte* const vtable = message + root - back;
      std::uint16_t bytes, offset = 0;
      std::memcpy(&bytes, vtable, sizeof bytes);
      if (field.slot < bytes) std::memcpy(&offset, vtable + field.slot, sizeof offset);
      if (offset == 0) continue;
      at = message + root + offset;
    }
    std::memset(at, 0, 8);
  }
}

/// Leaves out sequences, numbers that are drawn at random, and times of the machine.
std::vector<std::byte> comparable(const WireFrame& frame, const TypeTable& types) {
  FrameEnvelope envelope = frame.envelope;
  envelope.session &= 0xffffffff;
  envelope.sequence = 0;
  std::vector<std::byte> batch(frame.batch.begin(), frame.batch.end());
  BatchBuilder changed;
  const BatchView view{std::span<const std::byte>(batch)};
  if (view.type() == TypeTraits<session::Sessions>::id) {
    auto all = session::read<session::Sessions>(view);
    for (auto* list : {&all.connected_ns, &all.oldest_ns, &all.stuck_ns, &all.received_bytes, &all.sent_bytes})
      list->assign(list->size(), 0);
    for (std::uint64_t& number : all.sessions) number &= 0xffffffff;
    session::append(changed, all);
  } else if (view.type() == TypeTraits<session::Info>::id) {
    auto info = session::read<session::Info>(view);
    info.uptime_ns = 0;
    session::append(changed, info);
  } else if (view.type() == TypeTraits<session::Presence>::id) {
    auto there = session::read<session::Presence>(view);
    for (session::Present& each : there.people) each.session &= 0xffffffff;
    session::append(changed, there);
  }
  if (!changed.empty()) batch.assign(changed.bytes().begin(), changed.bytes().end());
  const BatchView made{std::span<const std::byte>(batch)};
  const TypeDescriptor* const type = types.find(made.type());
  if (type && type->name.starts_with("muster.session.")) {
    const std::byte* const message =
        made.kind() == BatchKind::table ? table_item(made, made.body()).table.data() : made.payload(0);
    clear_sequences(*type, batch.data() + (message - batch.data()));
  }
  std::vector<std::byte> all;
  append_frame(all, batch, frame.header.request, frame.header.flags & ~std::uint32_t{frame_envelope},
               (frame.header.flags & frame_envelope) ? &envelope : nullptr);
  return all;
}

struct Heard {
  std::string what;  // name of the message's type
  std::vector<std::byte> bytes;
  bool operator==(const Heard&) const = default;
};

std::string printed(const std::vector<std::byte>& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t number;
    std::memcpy(&number, bytes.data() + i, 4);
    text += std::to_string(number) + " ";
  }
  return text;
}

/// A world with two users: ann, whose sight is limited, and bob, who sees everything.
class OneWorld {
 public:
  OneWorld(const std::string& folder, const std::vector<AccessRule>& rules)
      : door{*hand.desk, Users({}, folder + "/users"), {}, Refusals({}, std::chrono::nanoseconds(0))} {
    door.rules.set(rules);
    for (const char* const name : {"ann", "bob"}) {
      const auto made = door.users.create(name, session::Role::edit, 0, Users::Clock::now());
      REQUIRE(made.has_value());
      connect(made->token);
    }
    const auto admin = hand.join("world");
    hand.flush();
    const auto ids = hand.answer_to<session::Granted>(*admin, session::RequestGrant{.count = 2 * ids_each});
    REQUIRE(ids.count == 2 * ids_each);
    first = ids.first;
    (void)heard();
  }
  /// Sends a question of both users, or an edit of ann.
  void send(const std::function<void(BatchBuilder&)>& write, std::uint64_t request, bool is_edit) {
    for (auto& protocol : protocols) {
      if (is_edit && protocol != protocols.front()) break;
      BatchBuilder builder;
      write(builder);
      FrameHeader header{.bytes = 0, .flags = 0, .request = request};
      header.bytes = static_cast<std::uint32_t>(builder.bytes().size()) + sizeof header;
      REQUIRE(protocol->on_frame({header, {}, builder.bytes()}) != SessionProtocol::Outcome::wait);
      protocol->on_no_more();
    }
  }
  void push(const std::function<void(BatchBuilder&)>& write) {
    BatchBuilder builder;
    write(builder);
    REQUIRE(builder.batches() == 1);
    (void)hand.registry.host().push_batch(builder.bytes(), {.session = 7, .user = 9});
  }
  std::vector<std::vector<Heard>> heard() {
    hand.settle();
    std::vector<std::vector<Heard>> all;
    for (auto& connection : connections) {
      auto& of_one = all.emplace_back();
      take_all_frames(connection->outgoing, [&](const WireFrame& frame) {
        const TypeDescriptor* const type = hand.desk->types()->find(BatchView(frame.batch).type());
        of_one.push_back({type ? type->name : "?", comparable(frame, *hand.desk->types())});
      });
    }
    return all;
  }

  HandDesk hand;
  Door door;
  std::vector<std::shared_ptr<Connection>> connections;
  std::vector<std::unique_ptr<SessionProtocol>> protocols;
  std::uint32_t first = 0;  // index of the first id that the world's own edits may use

 private:
  void connect(const std::string& token) {
    connections.push_back(std::make_shared<Connection>());
    protocols.push_back(std::make_unique<SessionProtocol>(door, connections.back(), "here"));
    session::Hello hello;
    hello.protocol = session::protocol_newest;
    hello.protocol_oldest = session::protocol_oldest;
    hello.token = token;
    BatchBuilder builder;
    session::append(builder, hello);
    FrameHeader header{.bytes = static_cast<std::uint32_t>(builder.bytes().size() + 32), .flags = 0, .request = 1};
    REQUIRE(protocols.back()->on_frame({header, {}, builder.bytes()}) == SessionProtocol::Outcome::done);
    hand.flush();
  }
};

class TwoWorlds {
 public:
  TwoWorlds(std::uint64_t seed, std::map<std::string, int>& differing)
      : random_(seed),
        differing_(differing),
        shows_door_(seed % 2 == 0),
        a_(folder_a_.path().string(), rules()),
        b_(folder_b_.path().string(), rules()) {
    REQUIRE(a_.first == b_.first);
    for (const char* const name : names) intern(name);
    both("the tree", [&](BatchBuilder& out) { out.append(id(town_), Create{.name = text_of("town")}); });
    both("the tree", [&](BatchBuilder& out) { out.append(id(secret_), Create{.name = text_of("secret")}); });
    both("the tree",
         [&](BatchBuilder& out) { out.append(id(cellar_), Create{.parent = id(town_), .name = text_of("cellar")}); });
    if (shows_door_) {
      const Entity door = id(next_++);
      both("the tree",
           [&](BatchBuilder& out) { out.append(door, Create{.parent = id(secret_), .name = text_of("door")}); });
    }
    for (int i = 0; i < 12; ++i) create();
    for (std::uint32_t i = 0; i < 8; ++i) hide_one();
  }

  void run(int steps) {
    for (step_ = 0; step_ < steps; ++step_) {
      switch (random_.below(4)) {
        case 0: change(); break;
        case 1: hide_one(); break;
        default: ask(); break;
      }
      if (random_.percent(70)) compare();
    }
    compare();
  }

 private:
  std::vector<AccessRule> rules() const {
    const auto entry = [](const char* what, bool shows) {
      return RuleEntry{.what = what, .allows = shows, .place = ""};
    };
    AccessRule rule{.users = {"ann"}};
    for (const char* const what : {"arena.Position", "arena.Chat", "arena.Hidden", "/secret", "/town/cellar", "/vault"})
      rule.sights.push_back(entry(what, false));
    if (shows_door_) rule.sights.push_back(entry("/secret/door", true));
    return {rule};
  }
  Entity id(std::uint32_t number) const { return {a_.first + number, 1}; }
  Entity hidden_id(std::uint32_t number) const { return {a_.first + ids_each + number, 1}; }
  Entity someone() { return random_.percent(15) ? id(town_) : id(random_.small(next_)); }
  Entity someone_hidden() {
    return random_.percent(30)   ? id(secret_)
           : random_.percent(10) ? id(cellar_)
                                 : hidden_id(random_.small(next_hidden_ + 1));
  }
  Entity anyone() { return random_.percent(30) ? someone_hidden() : random_.percent(5) ? nobody : someone(); }
  /// A name that no visible entity has.
  Text hidden_name() { return text_of(random_.one_of({"h1", "h2", "h3"})); }

  void both(std::string what, const std::function<void(BatchBuilder&)>& write) {
    last_ += "\n  both: " + std::move(what);
    a_.push(write);
    b_.push(write);
  }
  void hidden(std::string what, const std::function<void(BatchBuilder&)>& write) {
    last_ += "\n  hidden: " + std::move(what);
    a_.push(write);
    b_.push([](BatchBuilder& out) { out.append(nobody, arena::Damage{}); });
  }
  void intern(const std::string& text) {
    both("text", [&](BatchBuilder& out) { session::append(out, InternText{.text = text}); });
  }
  void create() {
    if (next_ >= ids_each) return;
    const Entity parent = random_.percent(30) ? Entity{} : someone(), e = id(next_++);
    both("create", [&](BatchBuilder& out) { out.append(e, Create{.parent = parent, .name = name_of(e)}); });
    give_health(e);
  }
  void give_health(Entity e) {
    const float value = float(random_.below(100));
    both("health", [&](BatchBuilder& out) { set(out, e, arena::Health{.value = value}); });
  }
  /// A name that is unlikely to be taken.
  Text name_of(Entity e) {
    const std::string text = "n" + std::to_string(e.index);
    intern(text);
    return text_of(text);
  }
  template <class C>
  static void set(BatchBuilder& out, Entity e, const C& component) {
    out.append_rows(e, Set{}, component);
  }

  void change() {
    const Entity e = someone();
    switch (random_.below(9)) {
      case 0: return create();
      case 1:
        if (e.index < a_.first + 3) return;
        return both("destroy", [&](BatchBuilder& out) { out.append(e, Destroy{}); });
      case 2: {
        const Entity to = random_.percent(40) ? id(random_.percent(50) ? secret_ : cellar_) : someone();
        if (e.index < a_.first + 3) return;
        return both("move", [&](BatchBuilder& out) { out.append(e, Reparent{.parent = to}); });
      }
      case 3: {
        if (e.index < a_.first + 3) return;
        const Text to = random_.percent(40) ? text_of("vault") : name_of(e);
        return both("rename", [&](BatchBuilder& out) { out.append(e, Rename{.name = to}); });
      }
      case 4: {
        const std::string text = "t" + std::to_string(random_.below(30));
        intern(text);
        return both("label", [&](BatchBuilder& out) { set(out, e, arena::Label{.title = text_of(text)}); });
      }
      case 5: return both("damage", [&](BatchBuilder& out) { out.append(e, arena::Damage{.amount = 1}); });
      case 6:
        return both("to the root", [&](BatchBuilder& out) {
          if (e.index < a_.first + 3)
            out.append(nobody, arena::Damage{});
          else
            out.append(e, Reparent{});
        });
      default: return give_health(e);
    }
  }

  /// Changes something that only world A has.
  void hide_one() {
    const Entity e = hidden_id(random_.small(next_hidden_ + 1));
    switch (random_.below(13)) {
      case 0:
      case 1:
      case 2: {
        if (next_hidden_ >= ids_each) return;
        const Entity made = hidden_id(next_hidden_++);
        const Entity parent = random_.percent(50) ? id(random_.percent(50) ? secret_ : cellar_)
                              : e == made         ? id(secret_)
                                                  : e;
        if (!a_.hand.registry.alive(parent))
          return hidden("nothing", [&](BatchBuilder& out) { out.append(nobody, arena::Damage{}); });
        const Text called = random_.percent(50) ? hidden_name() : Text{};
        return hidden("create", [&](BatchBuilder& out) {
          out.append(made, Create{.parent = parent, .name = called, .clash = NameClash::suffix});
        });
      }
      case 3: return hidden("destroy", [&](BatchBuilder& out) { out.append(e, Destroy{}); });
      case 4:
        return hidden("move", [&](BatchBuilder& out) {
          out.append(e, Reparent{.parent = id(random_.percent(50) ? secret_ : cellar_)});
        });
      case 5:
        return hidden("rename", [&](BatchBuilder& out) {
          out.append(e, Rename{.name = hidden_name(), .clash = NameClash::suffix});
        });
      case 6:
        return hidden("health",
                      [&](BatchBuilder& out) { set(out, e, arena::Health{.value = float(random_.below(100))}); });
      case 7: {
        const std::string text = "hidden" + std::to_string(random_.below(30));
        hidden("text", [&](BatchBuilder& out) { session::append(out, InternText{.text = text}); });
        return hidden("label", [&](BatchBuilder& out) { set(out, e, arena::Label{.title = text_of(text)}); });
      }
      case 8: {
        const Entity whom = someone();
        return hidden("position",
                      [&](BatchBuilder& out) { set(out, whom, arena::Position{.x = double(random_.below(9))}); });
      }
      case 9: {
        const Entity whom = someone();
        if (random_.percent(50)) return hidden("tag", [&](BatchBuilder& out) { set(out, whom, arena::Hidden{}); });
        return hidden("no position", [&](BatchBuilder& out) {
          out.append(whom, Remove{.component = TypeTraits<arena::Position>::id});
        });
      }
      case 10: return hidden("damage", [&](BatchBuilder& out) { out.append(e, arena::Damage{.amount = 2}); });
      case 11: {
        const Entity whom = random_.percent(50) ? someone() : e;
        return hidden("chat", [&](BatchBuilder& out) { out.append(whom, arena::Chat{.line = text_of("a")}); });
      }
      default: {
        const Entity whom = someone();
        last_ += "\n  a part is hidden: damage";
        a_.push([&](BatchBuilder& out) {
          out.append(whom, arena::Damage{.amount = 3});
          out.append(e, arena::Damage{.amount = 3});
        });
        return b_.push([&](BatchBuilder& out) { out.append(whom, arena::Damage{.amount = 3}); });
      }
    }
  }

  template <class M>
  void question(const M& what) {
    last_ += "\n  asks: " + std::string(TypeTraits<M>::name);
    send([&](BatchBuilder& out) { session::append(out, what); }, false);
  }
  void edit(std::string what, const std::function<void(BatchBuilder&)>& write) {
    last_ += "\n  edits: " + std::move(what);
    send(write, true);
  }
  void send(const std::function<void(BatchBuilder&)>& write, bool is_edit) {
    const std::uint64_t request = ++request_;
    a_.send(write, request, is_edit);
    b_.send(write, request, is_edit);
  }
  std::vector<Entity> some(std::uint32_t most) {
    std::vector<Entity> all;
    for (std::uint32_t i = random_.small(most + 1); i > 0; --i) all.push_back(anyone());
    return all;
  }
  std::string path() {
    std::string made;
    for (std::uint32_t i = 1 + random_.small(3); i > 0; --i)
      made += std::string("/") + random_.one_of({"town", "secret", "cellar", "a", "b", "vault", "door"});
    return random_.percent(30) ? made.substr(1) : made;
  }

  void follow(std::uint64_t changes = 0) {
    session::Follow what;
    what.watch = changes;
    what.world = random_.percent(50);
    if (!what.world) what.entities = some(4);
    what.subtree = random_.percent(60);
    what.structure = random_.percent(70);
    what.values = random_.percent(70);
    if (random_.percent(30)) what.components = {TypeTraits<arena::Health>::id};
    if (random_.percent(20)) what.with = {TypeTraits<arena::Health>::id};
    if (random_.percent(10)) what.without = {TypeTraits<arena::Label>::id};
    if (random_.percent(10)) what.components.push_back(TypeTraits<arena::Position>::id);
    if (random_.percent(40)) what.open = some(3);
    if (random_.percent(30)) what.open.push_back({});
    what.inputs = random_.percent(40);
    question(what);
    if (changes == 0) watches_.push_back(request_);
  }

  void ask() {
    switch (random_.below(16)) {
      case 0:
        if (watches_.size() < 6) return follow();
        [[fallthrough]];
      case 1:
        if (!watches_.empty() && random_.percent(60)) return follow(random_.one_of(watches_));
        return;
      case 2:
        if (watches_.empty()) return;
        return question(session::FollowMore{
            .watch = random_.one_of(watches_), .add = some(2), .drop = some(2), .open = some(2), .close = some(2)});
      case 3: {
        if (watches_.size() < 4) return;
        const std::size_t at = random_.below(watches_.size());
        question(session::Unwatch{.watch = watches_[at]});
        watches_.erase(watches_.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      }
      case 4: return question(session::Show{.entity = anyone()});
      case 5: {
        session::Find what{.name = random_.percent(50) ? "" : random_.one_of({"a", "n", "sec"})};
        if (random_.percent(30)) what.under = anyone();
        if (random_.percent(30))
          what.components = {random_.percent(50) ? TypeTraits<arena::Health>::id : TypeTraits<arena::Position>::id};
        return question(what);
      }
      case 6: return question(session::ListChildren{.entity = random_.percent(40) ? Entity{} : anyone()});
      case 7: return question(session::Resolve{.path = path()});
      case 8: return question(session::GetText{.hash = hash64(random_.percent(50) ? "hidden3" : "t3")});
      case 9: question(session::ListTemplates{}); return question(session::ListTimers{});
      case 10:
        question(session::GetInfo{.hash = random_.percent(50) ? std::uint8_t{1} : std::uint8_t{0}});
        question(session::GetSchema{});
        question(session::ReadLog{.follow = 1});
        return question(session::ListHandlers{});
      case 11: {
        const Entity e = anyone();
        return edit("health", [&](BatchBuilder& out) { set(out, e, arena::Health{.value = 5}); });
      }
      case 12: {
        const Entity one = anyone(), two = anyone();
        return edit("damage", [&](BatchBuilder& out) {
          out.append(one, arena::Damage{.amount = 1});
          out.append(two, arena::Damage{.amount = 1});
        });
      }
      case 13: {
        const Entity e = anyone(), to = anyone();
        if (e == id(town_)) return;
        return edit("move", [&](BatchBuilder& out) { out.append(e, Reparent{.parent = to}); });
      }
      case 14: {
        const Entity e = anyone();
        return edit("rename", [&](BatchBuilder& out) {
          out.append(e, Rename{.name = text_of("a"), .clash = NameClash::suffix});
        });
      }
      default:
        question(session::SetPresence{.selection = {anyone()}});
        question(session::GetPresence{});
        return question(session::ListSessions{});
    }
  }

  void compare() {
    const auto a = a_.heard(), b = b_.heard();
    INFO("step " << step_ << last_);
    last_.clear();
    for (std::size_t i = 0; i < std::max(a[0].size(), b[0].size()); ++i) {
      const std::string in_a = i < a[0].size() ? a[0][i].what : "nothing",
                        in_b = i < b[0].size() ? b[0][i].what : "nothing";
      INFO("frame " << i << ": " << in_a << ", " << in_b);
      const auto in = [i](const std::vector<Heard>& all) { return i < all.size() ? printed(all[i].bytes) : ""; };
      if (in(a[0]) != in(b[0])) FAIL("the bytes differ\n" << in(a[0]) << "\n" << in(b[0]));
    }
    // The other user is told different things, so the comparison above can fail.
    std::map<std::string, std::vector<std::vector<std::byte>>> of_a, of_b;
    for (const Heard& each : a[1]) of_a[each.what].push_back(each.bytes);
    for (const Heard& each : b[1]) of_b[each.what].push_back(each.bytes);
    for (const auto& [what, bytes] : of_b) (void)of_a[what];
    for (const auto& [what, bytes] : of_a) differing_[what] += of_b[what] == bytes ? 0 : 1;
  }

  Random random_;
  std::map<std::string, int>& differing_;
  const bool shows_door_;
  test::Folder folder_a_, folder_b_;
  OneWorld a_, b_;
  std::uint32_t town_ = 0, secret_ = 1, cellar_ = 2, next_ = 3, next_hidden_ = 0;
  std::uint64_t request_ = 100;
  std::vector<std::uint64_t> watches_;
  int step_ = -1;
  std::string last_;
};

/// How often the other user was told something else in world A than in world B, by type of message.
std::map<std::string, int>& differing() {
  static std::map<std::string, int> all;
  return all;
}

TEST_CASE("two worlds that differ only in what a user may not see send the user the same bytes", "[sight]") {
  const bool soaks = test::number_in("MUSTER_SOAK_MINUTES", 0) > 0;
  const std::uint64_t seeds = soaks ? 200 : 10;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) DYNAMIC_SECTION("seed " << seed) {
      TwoWorlds(seed, differing()).run(soaks ? 1000 : 150);
    }
}

TEST_CASE("the same two worlds send a user with full sight different bytes in every way", "[sight]") {
  if (differing().empty())
    for (std::uint64_t seed = 1; seed <= 10; seed += 2) TwoWorlds(seed, differing()).run(150);
  for (const char* const what :
       {"muster.session.Found", "muster.session.Shown", "muster.session.Children", "muster.session.Info",
        "muster.session.Values", "muster.session.ChildRows", "muster.Create", "muster.Destroy", "muster.session.Left",
        "muster.session.Watching", "muster.Rename", "muster.Reparent", "arena.Damage", "arena.Chat",
        "muster.InternText"}) {
    INFO(what);
    CHECK(differing()[what] > 0);
  }
}

}  // namespace two_worlds_test
