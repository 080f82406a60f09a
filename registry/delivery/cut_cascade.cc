#include "registry/delivery/cut_cascade.h"

#include <cstdio>
#include <vector>

#include "registry/handlers/handler_table.h"

namespace muster {

void RegistryOptions::warn(const std::string& sentence) const {
  if (on_warning)
    on_warning(sentence);
  else
    std::fprintf(stderr, "muster: %s\n", sentence.c_str());
}

std::string cut_sentence(const RegistryOptions& options, const HandlerTable& handlers, TypeId first_waiting,
                         bool by_messages) {
  const MessageRoute* route = handlers.route(first_waiting);
  const std::string message = route ? route->type->name : std::string("a message");
  std::string sentence =
      "a cascade was cut short after " +
      (by_messages ? std::to_string(options.cascade_messages_max) + " messages (RegistryOptions::cascade_messages_max)"
                   : std::to_string(options.cascade_bytes_max) + " bytes (RegistryOptions::cascade_bytes_max)") +
      "; the rest, starting with " + message + ", waits for the next input";
  if (!route) return sentence;
  constexpr std::size_t named_max = 3;
  std::vector<std::string> posting;
  for (const Handler* handler : route->order)
    if (handler->pushes) posting.push_back(handler->name.empty() ? "an unnamed handler" : '"' + handler->name + '"');
  if (posting.empty()) return sentence;
  sentence += ". ";
  for (std::size_t i = 0; i < posting.size() && i < named_max; ++i) sentence += (i ? ", " : "") + posting[i];
  if (posting.size() > named_max) sentence += " and " + std::to_string(posting.size() - named_max) + " more";
  return sentence + (posting.size() == 1 ? " handles " + message + " and posts messages: does it ever stop?"
                                         : " handle " + message + " and post messages: do they ever stop?");
}

}  // namespace muster
