// How often what is drawn, and the questions but those of watches.
#include "tests/abuse/requests.h"

#include <algorithm>

namespace muster::abuse {

struct Requests::Kind {
  const char* name;
  session::Role right;
  std::uint32_t weight;
  void (Requests::*draw)(BatchBuilder&, Belongings&);
};

const std::vector<Requests::Kind>& Requests::kinds() {
  using enum session::Role;
  static const std::vector<Kind> all = {
      {"Heartbeat", view, 5, &Requests::heartbeat},
      {"GetSchema", view, 1, &Requests::get_schema},
      {"GetText", view, 5, &Requests::get_text},
      {"ListChildren", view, 10, &Requests::list_children},
      {"Resolve", view, 8, &Requests::resolve},
      {"Find", view, 12, &Requests::find},
      {"Show", view, 10, &Requests::show},
      {"ListTemplates", view, 2, &Requests::list_templates},
      {"GetTemplate", view, 4, &Requests::get_template},
      {"Unwatch", view, 3, &Requests::unwatch},
      {"Follow", view, 10, &Requests::follow},
      {"FollowMore", view, 4, &Requests::follow_more},
      {"GetClock", view, 2, &Requests::get_clock},
      {"SetPresence", view, 5, &Requests::set_presence},
      {"GetPresence", view, 3, &Requests::get_presence},
      {"ListHandlers", view, 2, &Requests::list_handlers},
      {"WhyApart", view, 2, &Requests::why_apart},
      {"ReadLog", view, 2, &Requests::read_log},
      {"GetInfo", view, 3, &Requests::get_info},
      {"GetLoad", view, 3, &Requests::get_load},
      {"ListTimers", view, 4, &Requests::list_timers},
      {"RequestGrant", edit, 6, &Requests::request_grant},
      {"ReadTemplates", edit, 1, &Requests::read_templates},
      {"Create", edit, 12, &Requests::create},
      {"Create, a chain", edit, 3, &Requests::chain},
      {"Create, a crowd", edit, 2, &Requests::crowd},
      {"Destroy", edit, 5, &Requests::destroy},
      {"Set", edit, 12, &Requests::set},
      {"Remove", edit, 5, &Requests::remove},
      {"SetField", edit, 15, &Requests::set_field},
      {"SetFieldIf", edit, 4, &Requests::set_field_if},
      {"Reparent", edit, 8, &Requests::reparent},
      {"Rename", edit, 8, &Requests::rename},
      {"InternText", edit, 4, &Requests::intern},
      {"DefineTemplate", edit, 2, &Requests::define_template},
      {"Spawn", edit, 6, &Requests::spawn},
      {"MergeTemplate", edit, 3, &Requests::merge},
      {"message of the game", control, 15, &Requests::message},
      {"CancelTimer", control, 3, &Requests::cancel_timer},
      {"EnableHandler", control, 1, &Requests::enable_handler},
      {"SetClock", control, 2, &Requests::set_clock},
      {"Save", control, 1, &Requests::save},
      {"BeginTrace", control, 1, &Requests::begin_trace},
      {"EndTrace", control, 1, &Requests::end_trace},
      {"AddSchema", admin, 2, &Requests::add_schema},
      {"Reload", admin, 1, &Requests::reload},
      {"DropTexts", admin, 1, &Requests::drop_texts},
      {"Kick", admin, 1, &Requests::kick},
      {"RemoveOf", admin, 1, &Requests::remove_of},
  };
  return all;
}

void Requests::draw(BatchBuilder& out, Belongings& has, std::uint64_t request) {
  request_ = request;
  while (true) {
    std::uint32_t all = 0;
    for (const Kind& kind : kinds()) all += kind.weight;
    std::uint32_t at = random_.small(all);
    const Kind* drawn = nullptr;
    for (const Kind& kind : kinds()) {
      if (at < kind.weight) {
        drawn = &kind;
        break;
      }
      at -= kind.weight;
    }
    // What the right does not allow is asked now and then all the same.
    if (drawn->right > has.role && !random_.percent(2)) continue;
    // Now and then the whole of it happens later.
    const bool edits = drawn->right >= session::Role::edit;
    BatchBuilder made(15u << 20);
    (this->*drawn->draw)(made, has);
    if (made.empty()) continue;
    const BatchView batch = made.front();
    const TypeDescriptor* const type = known_.types->find(batch.type());
    if (edits && type && !type->name.starts_with("muster.session.") && random_.percent(6)) {
      // Many at one moment, some far away, some at once.
      const std::uint64_t second = 1'000'000'000;
      const std::uint64_t now = known_.clock_ns;
      const std::uint64_t due = random_.percent(50)   ? (now / (2 * second) + 1) * 2 * second
                                : random_.percent(10) ? ~std::uint64_t{0} - random_.below(1000)
                                : random_.percent(10) ? 0
                                                      : now + random_.below(20 * second);
      out.append_timed(due, 0, batch);
      ++counts_[std::string(drawn->name) + ", timed"];
    } else {
      out.append_batch(batch);
      ++counts_[drawn->name];
    }
    out.seal();
    return;
  }
}

Entity Belongings::own(Random& random, const Knowledge& known) const {
  if (!entities.empty() && !random.percent(3)) return entities[random.below(entities.size())];
  return any(random, known);
}

Entity Belongings::any(Random& random, const Knowledge& known) const {
  if (random.percent(5)) return {};
  if (random.percent(5)) return {random.small(1u << 20), 1 + random.small(3)};
  if (!entities.empty() && random.percent(50)) return entities[random.below(entities.size())];
  return known.entities.empty() ? Entity{} : known.entities[random.below(known.entities.size())];
}

namespace {

void append_utf8(std::string& to, std::uint32_t code) {
  const auto low = [&](std::uint32_t shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | code >> 6);
    to += low(0);
  } else {
    to += static_cast<char>(0xe0 | code >> 12);
    to += low(6);
    to += low(0);
  }
}

}  // namespace

std::string Requests::word(std::uint32_t bytes_max) {
  std::string made;
  const std::uint32_t bytes = random_.size(bytes_max);
  const std::uint64_t bits = random_.next();
  made.reserve(bytes + 4);
  if (random_.percent(30)) {
    while (made.size() + 4 < bytes) {
      const std::uint32_t code = random_.percent(50)   ? 0x20 + random_.small(0x5f)
                                 : random_.percent(50) ? 0xa0 + random_.small(0x700)
                                                       : 0xe000 + random_.small(0x1000);
      append_utf8(made, code);
    }
    return made.empty() ? "x" : made;
  }
  for (std::uint64_t i = 0; made.size() + 2 < bytes; ++i) {
    static constexpr const char* letters[] = {"a",  "b",        "town", "/", "\\",    " ",
                                              "~2", "\xc3\xa4", "\"",   "x", "Squad", "."};
    made += letters[(bits >> (i % 60)) % std::size(letters)];
  }
  return made.empty() ? "x" : made;
}

// --- questions

void Requests::heartbeat(BatchBuilder& out, Belongings&) {
  session::append(out,
                  session::Heartbeat{.number = random_.next(), .time_ns = random_.next(), .answer = random_.small(2)});
}
void Requests::get_schema(BatchBuilder& out, Belongings&) { session::append(out, session::GetSchema{}); }
void Requests::get_text(BatchBuilder& out, Belongings&) {
  session::append(out, session::GetText{.hash = random_.percent(10) ? random_.next() : name().hash});
}
void Requests::request_grant(BatchBuilder& out, Belongings& has) {
  const std::uint32_t most = has.large || random_.percent(5) ? 65'536 : 500;
  if (has.ids.size() + has.ids_asked > 2 * most && !random_.percent(5)) return;
  session::RequestGrant ask{.count = random_.percent(80) ? most : random_.size(most)};
  if (random_.percent(3)) ask.count = random_.percent(50) ? 0 : 65'537 + random_.small(1u << 30);
  has.ids_asked += ask.count <= 65'536 ? ask.count : 0;
  session::append(out, ask);
}
void Requests::list_children(BatchBuilder& out, Belongings& has) {
  session::ListChildren ask;
  ask.entity = random_.percent(30) ? Entity{} : has.any(random_, known_);
  ask.offset = random_.percent(70) ? 0 : random_.small(1u << 20);
  ask.limit = random_.percent(30) ? 0 : random_.size(20'000);
  session::append(out, ask);
}
void Requests::resolve(BatchBuilder& out, Belongings&) {
  session::Resolve ask;
  ask.path = random_.percent(30) ? std::string("/red/squad-") + std::to_string(random_.small(600)) : word(5000);
  if (random_.percent(10)) ask.path = std::string("unit-") + std::to_string(random_.small(8));
  if (random_.percent(5)) {
    ask.path.clear();
    for (std::uint32_t i = 0, names = random_.size(2000); i < names; ++i) ask.path += "/x";
  }
  ask.limit = random_.size(20'000);
  session::append(out, ask);
}
void Requests::find(BatchBuilder& out, Belongings& has) {
  session::Find ask;
  if (random_.percent(60)) ask.name = random_.percent(50) ? "unit" : word(random_.percent(5) ? 5000 : 8);
  if (random_.percent(50))
    for (std::uint32_t i = 0, types = random_.size(random_.percent(5) ? 200'000 : 5); i < types; ++i)
      ask.components.push_back(random_.one_of(known_.components)->id);
  if (random_.percent(40)) ask.under = has.any(random_, known_);
  if (random_.percent(20)) ask.after = has.any(random_, known_);
  ask.limit = random_.percent(40) ? 20'000 : random_.size(20'000);
  session::append(out, ask);
}
void Requests::show(BatchBuilder& out, Belongings& has) {
  session::append(out, session::Show{.entity = has.any(random_, known_)});
}
void Requests::list_templates(BatchBuilder& out, Belongings&) { session::append(out, session::ListTemplates{}); }
void Requests::get_template(BatchBuilder& out, Belongings&) {
  session::GetTemplate ask;
  ask.name = known_.templates.empty() || random_.percent(20) ? word(300) : random_.one_of(known_.templates).name;
  session::append(out, ask);
}
void Requests::read_templates(BatchBuilder& out, Belongings&) {
  // Each of them has the one before twice.
  session::ReadTemplates ask;
  ask.file = word(20);
  const std::uint32_t levels = 1 + random_.small(24), series = random_.small(4);
  const auto called = [&](std::uint32_t level) {
    return "double-" + std::to_string(series) + "-" + std::to_string(level);
  };
  ask.text = "{templates: [{name: \"" + called(0) + "\", components: {\"scene.Transform\": {}}}";
  for (std::uint32_t i = 1; i < levels; ++i)
    ask.text += ",\n{name: \"" + called(i) + "\", children: [{name: \"a\", bases: [\"" + called(i - 1) +
                "\"]}, {name: \"b\", bases: [\"" + called(i - 1) + "\"]}]}";
  ask.text += random_.percent(5) ? "" : "]}";
  if (random_.percent(5)) ask.text.append(random_.size(900'000), ' ');
  session::append(out, ask);
}
void Requests::save(BatchBuilder& out, Belongings&) { session::append(out, session::Save{}); }
void Requests::begin_trace(BatchBuilder& out, Belongings&) {
  session::append(out, session::BeginTrace{.causes = random_.small(2)});
}
void Requests::end_trace(BatchBuilder& out, Belongings&) { session::append(out, session::EndTrace{}); }
void Requests::get_info(BatchBuilder& out, Belongings&) {
  session::append(out, session::GetInfo{.hash = random_.small(2)});
}
void Requests::get_load(BatchBuilder& out, Belongings&) { session::append(out, session::GetLoad{}); }
void Requests::list_timers(BatchBuilder& out, Belongings&) {
  session::append(out, session::ListTimers{.after_due_ns = random_.percent(70) ? 0 : known_.clock_ns,
                                           .after_timer = random_.percent(70) ? 0 : random_.below(20'000),
                                           .limit = random_.percent(30) ? 0 : random_.size(20'000)});
}
void Requests::why_apart(BatchBuilder& out, Belongings&) {
  session::append(out, session::WhyApart{.first = word(20), .second = word(20)});
}
void Requests::list_handlers(BatchBuilder& out, Belongings&) {
  session::append(out, session::ListHandlers{.after = random_.percent(70) ? 0 : random_.below(100),
                                             .limit = random_.percent(30) ? 0 : random_.size(20'000)});
}
void Requests::read_log(BatchBuilder& out, Belongings&) {
  session::append(out, session::ReadLog{.after = random_.percent(70) ? 0 : random_.below(3000),
                                        .limit = random_.percent(30) ? 0 : random_.size(20'000),
                                        .follow = random_.small(2)});
}
void Requests::get_clock(BatchBuilder& out, Belongings&) {
  session::append(out, session::GetClock{.follow = random_.small(2)});
}
void Requests::set_presence(BatchBuilder& out, Belongings& has) {
  session::SetPresence ask;
  for (auto* list : {&ask.selection, &ask.dragged, &ask.locks})
    for (std::uint64_t left = random_.percent(5) ? 300 : random_.small(6); left > 0; --left)
      list->push_back(has.any(random_, known_));
  if (random_.percent(50)) ask.camera.resize(random_.percent(90) ? 6 : random_.small(9), 0.5f);
  session::append(out, ask);
}
void Requests::get_presence(BatchBuilder& out, Belongings&) {
  session::append(out,
                  session::GetPresence{.after = random_.percent(80) ? 0 : random_.next(), .follow = random_.small(2)});
}
void Requests::set_clock(BatchBuilder& out, Belongings&) {
  session::SetClock ask{.speed = 0, .paused = random_.small(3)};
  if (random_.percent(50)) ask.speed = random_.percent(50) ? 1 : 0.01 * random_.size(10'000);
  if (random_.percent(ask.paused == 1 ? 60 : 5)) ask.steps = random_.size(100'000);
  session::append(out, ask);
}
void Requests::drop_texts(BatchBuilder& out, Belongings&) { session::append(out, session::DropTexts{}); }
void Requests::kick(BatchBuilder& out, Belongings&) {
  session::Kick ask;
  ask.name = random_.percent(90) ? word(100) : "abuser " + std::to_string(1 + random_.below(3));
  session::append(out, ask);
}
void Requests::remove_of(BatchBuilder& out, Belongings&) {
  // User 0 is the honest one.
  const std::uint64_t user = random_.below(5);
  session::append(out, session::RemoveOf{.user = user, .dry = user == 0 || random_.percent(80) ? 1u : 0u});
}
void Requests::add_schema(BatchBuilder& out, Belongings&) {
  // Such as it knows, or parts of them.
  session::AddSchema ask;
  const auto schemas = known_.types->schemas();
  const auto& bytes = schemas[random_.below(schemas.size())];
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  ask.bytes.assign(first, first + (random_.percent(50) ? bytes.size() : random_.below(bytes.size())));
  session::append(out, ask);
}
void Requests::reload(BatchBuilder& out, Belongings&) {
  session::Reload ask;
  ask.plugin = random_.percent(50) ? "" : random_.percent(50) ? "skirmish" : word(100);
  session::append(out, ask);
}

}  // namespace muster::abuse
