// Says that what handlers post was cut short, for RegistryOptions::on_warning.
#pragma once

#include <string>

#include "registry/delivery/registry_core.h"

namespace muster {

/// Names the option that bounds a cascade, the message that waits first, and the handlers of that
/// message that post. A handler that posts to itself for ever is among them. `by_messages`:
/// the bound on the number of messages was met, not that on their bytes.
std::string cut_sentence(const RegistryOptions& options, const HandlerTable& handlers, TypeId first_waiting,
                         bool by_messages);

}  // namespace muster
