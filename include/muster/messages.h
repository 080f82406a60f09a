// Headers for tools that use the protocol without a world: types, batches, and the verifier.
#pragma once

#include "schema/language.h"

#include "messages/batch.h"
#include "messages/judge/verifier.h"
#include "messages/type_table.h"
#include "schema/builtin.h"
#include "schema/descriptor.h"
#include "schema/muster.h"
