#include "registry/handlers/run_rules.h"

#include <algorithm>
#include <span>

namespace muster {

namespace {
bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}
}  // namespace

template <class Uses, class Key>
void RunRules::use(Uses& uses, const Key& key, bool writes, std::uint32_t by) {
  ++steps_;
  const auto at = uses.try_emplace(key).first;
  Use& use = at->second;
  clashing_ -= use.clashes();
  use.handlers += by;
  if (writes) use.writers += by;
  clashing_ += use.clashes();
  if (use.handlers == 0) uses.erase(at);
}

void RunRules::count(const Handler& handler, std::uint32_t by) {
  const std::span<const Term> terms = handler.terms;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    // Count each component only once, with the strongest access that the handler uses.
    const auto same = [&](const Term& term) { return term.value && term.type == terms[i].type; };
    if (!terms[i].value || std::ranges::any_of(terms.first(i), same)) continue;
    const bool writes =
        std::ranges::any_of(terms, [&](const Term& term) { return same(term) && term.access == Access::write; });
    use(components_, terms[i].type, writes, by);
  }
  const std::span<const std::string> writes = handler.options.external_writes, reads = handler.options.external_reads;
  for (std::size_t i = 0; i < writes.size(); ++i)
    if (!contains(writes.first(i), writes[i])) use(externals_, writes[i], true, by);
  for (std::size_t i = 0; i < reads.size(); ++i)
    if (!contains(writes, reads[i]) && !contains(reads.first(i), reads[i])) use(externals_, reads[i], false, by);
  if (handler.has_state && writes.empty() && reads.empty()) hidden_ += by;
  if (handler.pushes) pushing_ += by;
  if (handler.logs) logging_ += by;
  if (!handler.followed.empty()) followed_ += by;
  if (handler.writes_message) writing_ += by;
  if (handler.consumes) consuming_ += by;
}

}  // namespace muster
