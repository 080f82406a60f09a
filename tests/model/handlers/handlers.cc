#include "tests/model/handlers/handlers.h"

namespace naive {

Recorder* active_recorder = nullptr;

std::span<const HandlerKind> hit_handlers();
std::span<const HandlerKind> pass_handlers();
std::span<const HandlerKind> push_handlers();
std::span<const HandlerKind> structure_handlers();
std::span<const HandlerKind> change_handlers();
std::span<const HandlerKind> elsewhere_handlers();
std::span<const HandlerKind> life_handlers();
std::span<const HandlerKind> request_handlers();
std::span<const HandlerKind> enableable_handlers();

std::span<const HandlerKind> handler_kinds() {
  static const std::vector<HandlerKind> all = [] {
    std::vector<HandlerKind> made;
    for (const auto kinds : {hit_handlers(), pass_handlers(), push_handlers(), structure_handlers(), change_handlers(),
                             elsewhere_handlers(), life_handlers(), request_handlers(), enableable_handlers()})
      made.insert(made.end(), kinds.begin(), kinds.end());
    return made;
  }();
  return all;
}

std::span<const HandlerKind> drawn_kinds(bool enableable) {
  const auto all = handler_kinds();
  return enableable ? all : all.first(all.size() - enableable_handlers().size());
}

}  // namespace naive
