// For shared libraries that muster-server loads.
#pragma once

#include "schema/language.h"

#include "server/plugins/plugin.h"
