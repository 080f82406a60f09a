// A client of a running world: see client/cpp/client.h.
#pragma once

#include "schema/language.h"

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
