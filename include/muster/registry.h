// The registry alone: entities, components, handlers, messages. No sockets, no database.
#pragma once

#include "schema/language.h"

#include "registry/apply/timers.h"
#include "registry/delivery/pushed_sink.h"
#include "registry/delivery/thread_pool.h"
#include "registry/entity_registry.h"
#include "registry/handlers/dynamic_handler.h"
#include "registry/observe/figures.h"
#include "registry/observe/trace.h"
#include "registry/state/conversion.h"
#include "registry/state/state.h"
#include "registry/templates/template_file.h"
