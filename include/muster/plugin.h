// For shared libraries that muster-server loads.
#pragma once

#include "server/plugins/plugin.h"
