#include "registry/handlers/handler.h"

#include <algorithm>

#include "registry/handlers/known_chunks.h"

namespace muster {

Chunk& no_chunk() noexcept {
  static Chunk chunk;
  return chunk;
}

void Handler::bind(Archetype& archetype) {
  if (bound.size() <= archetype.index) bound.resize(archetype.index + 1, nullptr);
  std::uint32_t count = 0;
  for (const Term& term : terms) {
    if (term.source != Source::self) continue;
    const bool has = archetype.has(term.type);
    if (term.presence == Presence::required && !has) return;
    if (term.presence == Presence::excluded && has && !term.enableable) return;
    if (term.value) ++count;
  }
  if (options.filter && !options.filter(archetype)) return;
  values = count;
  auto columns = std::make_unique<std::uint16_t[]>(values + 1);
  std::uint32_t at = 0;
  for (const Term& term : terms) {
    if (term.source != Source::self || !term.value) continue;
    if (term.access == Access::write && at < 32) written |= std::uint32_t{1} << at;
    columns[at++] = archetype.column(term.type);
  }
  bound[archetype.index] = columns.get();
  column_lists.push_back(std::move(columns));
  matched.push_back(&archetype);
}

bool conflict(const Handler& a, const Handler& b) noexcept {
  const auto meet = [](const std::vector<std::string>& writes, const std::vector<std::string>& others) {
    return std::ranges::any_of(writes,
                               [&](const std::string& w) { return std::ranges::find(others, w) != others.end(); });
  };
  const HandlerOptions& x = a.options;
  const HandlerOptions& y = b.options;
  if (meet(x.external_writes, y.external_writes) || meet(x.external_writes, y.external_reads) ||
      meet(x.external_reads, y.external_writes))
    return true;
  const auto undeclared = [](const Handler& h) {
    return h.has_state && h.options.external_reads.empty() && h.options.external_writes.empty();
  };
  if (undeclared(a) && undeclared(b)) return true;
  for (const Term& s : a.terms)
    for (const Term& t : b.terms)
      if (s.type == t.type && s.value && t.value && (s.access == Access::write || t.access == Access::write))
        return true;
  return false;
}

void run_uncached(RunContext& context, const KnownChunk& known, void* message, std::uint32_t row) {
  known.site->run(context, *known.site, message, *known.chunk, row);
}

}  // namespace muster
