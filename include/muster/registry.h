// The registry alone: entities, components, handlers, messages. No sockets, no database.
#pragma once

#include "registry/entity_registry.h"
#include "registry/template_file.h"
#include "registry/thread_pool.h"
