// Headers for programs that host a registry (servers, savers, replays, and replicas), and for
// programs that explain or measure a registry.
#pragma once

#include "schema/language.h"

#include "registry/delivery/pushed_sink.h"
#include "registry/explain.h"
#include "registry/host.h"
#include "registry/moments/moments.h"
#include "registry/moments/rollback.h"
#include "registry/moments/synctest.h"
#include "registry/observe/log.h"
#include "registry/observe/trace.h"
#include "registry/profile.h"
