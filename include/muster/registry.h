// Headers for the registry alone: entities, components, handlers, and messages. Requires neither
// sockets nor a database.
#pragma once

#include "schema/language.h"

#include "registry/apply/manager.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/state/conversion.h"
#include "registry/state/state.h"
#include "registry/templates/template_file.h"
