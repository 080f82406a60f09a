// A client of a running world: see client/cpp/client.h.
#pragma once

#if __cplusplus <= 202002L
#error "Muster needs C++23: compile with -std=c++23"
#endif

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
