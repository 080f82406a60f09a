// Types, batches and the judgement of foreign bytes: what a tool that speaks the protocol without a world needs.
#pragma once

#if __cplusplus <= 202002L
#error "Muster needs C++23: compile with -std=c++23"
#endif

#include "messages/batch.h"
#include "messages/judge/verifier.h"
#include "messages/type_table.h"
#include "schema/builtin.h"
#include "schema/descriptor.h"
#include "schema/muster.h"
