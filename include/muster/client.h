// Headers for clients of a running world. See client/cpp/client.h.
#pragma once

#include "schema/language.h"

#include "client/cpp/address_file.h"
#include "client/cpp/client.h"
#include "client/cpp/expect.h"
