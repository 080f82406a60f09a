// Writes the warning that a cascade was cut short, for RegistryOptions::on_warning.
#pragma once

#include <string>

#include "registry/delivery/registry_core.h"

namespace muster {

/// Names the option that limits a cascade, the first waiting message, and the handlers of that
/// message that post. A handler that posts to itself forever is among them. `by_messages` is true
/// if the limit on the number of messages was reached, and not the limit on their bytes.
std::string cut_sentence(const RegistryOptions& options, const HandlerTable& handlers, TypeId first_waiting,
                         bool by_messages);

}  // namespace muster
