// What servers, savers, replays and replicas need of a registry, and what explains and measures it.
#pragma once

#include "schema/language.h"

#include "registry/delivery/pushed_sink.h"
#include "registry/explain.h"
#include "registry/host.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
