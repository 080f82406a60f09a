// For shared libraries that muster-server loads.
#pragma once

#include "server/plugin.h"
