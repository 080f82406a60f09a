#include "server/world/journal/applied_requests.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace muster {
namespace {

// Flags in the text.
constexpr std::uint64_t flag_refused = 1, flag_cut_short = 2;

/// Takes the next number, in hexadecimal, and the character that must follow it.
bool take_number(std::string_view& text, std::uint64_t& number, char then) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != then) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

void AppliedRequests::note(std::uint64_t session, const AppliedRequest& applied) {
  OfSession& of = sessions_[session];
  of.last = std::max(of.last, applied.request);
  of.newest.push_back(applied);
  if (of.newest.size() > kept_max) of.newest.pop_front();
}

std::uint64_t AppliedRequests::last(std::uint64_t session) const {
  const auto at = sessions_.find(session);
  return at == sessions_.end() ? 0 : at->second.last;
}

const AppliedRequest* AppliedRequests::find(std::uint64_t session, std::uint64_t request) const {
  const auto of = sessions_.find(session);
  if (of == sessions_.end()) return nullptr;
  const auto at = std::ranges::find(of->second.newest, request, &AppliedRequest::request);
  return at == of->second.newest.end() ? nullptr : &*at;
}

std::string AppliedRequests::text() const {
  // "SESSION:LAST:REQUEST,SEQUENCE,HANDLED,UNHANDLED,DEAD,FLAGS;...|SESSION...". REQUEST and
  // SEQUENCE are the differences to those of the previous request.
  std::string text;
  const std::map<std::uint64_t, const OfSession*> sorted = [&] {
    std::map<std::uint64_t, const OfSession*> all;
    for (const auto& [session, of] : sessions_) all.emplace(session, &of);
    return all;
  }();
  const auto add = [&](std::uint64_t number, char then) {
    char digits[16];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr) += then;
  };
  for (const auto& [session, of] : sorted) {
    add(session, ':');
    add(of->last, ':');
    AppliedRequest before;
    for (const AppliedRequest& each : of->newest) {
      add(each.request - before.request, ',');
      add(each.sequence - before.sequence, ',');
      add(each.handled, ',');
      add(each.unhandled, ',');
      add(each.dead, ',');
      add((each.refused ? flag_refused : 0) | (each.cut_short ? flag_cut_short : 0), ';');
      before = each;
    }
    text += '|';
  }
  return text;
}

bool AppliedRequests::read(std::string_view text) {
  sessions_.clear();
  const auto read_all = [&] {
    while (!text.empty()) {
      std::uint64_t session = 0;
      OfSession of;
      if (!take_number(text, session, ':') || !take_number(text, of.last, ':')) return false;
      while (!text.empty() && text.front() != '|') {
        AppliedRequest each;
        std::uint64_t handled = 0, unhandled = 0, dead = 0, flags = 0;
        if (!take_number(text, each.request, ',') || !take_number(text, each.sequence, ',') ||
            !take_number(text, handled, ',') || !take_number(text, unhandled, ',') || !take_number(text, dead, ',') ||
            !take_number(text, flags, ';'))
          return false;
        if (!of.newest.empty()) {
          each.request += of.newest.back().request;
          each.sequence += of.newest.back().sequence;
        }
        each.handled = static_cast<std::uint32_t>(handled);
        each.unhandled = static_cast<std::uint32_t>(unhandled);
        each.dead = static_cast<std::uint32_t>(dead);
        each.refused = (flags & flag_refused) != 0;
        each.cut_short = (flags & flag_cut_short) != 0;
        of.newest.push_back(each);
      }
      if (text.empty()) return false;
      text.remove_prefix(1);
      sessions_.emplace(session, std::move(of));
    }
    return true;
  };
  if (read_all()) return true;
  sessions_.clear();
  return false;
}

}  // namespace muster
