// Composes the warning that a cascade was cut short, for RegistryOptions::on_warning.
#pragma once

#include <string>

#include "registry/delivery/registry_core.h"

namespace muster {

/// Returns a sentence that names the option limiting the cascade, the first pending message, and
/// those of that message's handlers that post. If a handler posts to itself forever, it is among
/// them. `by_messages` is true if the cascade reached the limit on the number of messages rather
/// than the limit on their bytes.
std::string cut_sentence(const RegistryOptions& options, const HandlerTable& handlers, TypeId first_waiting,
                         bool by_messages);

}  // namespace muster
