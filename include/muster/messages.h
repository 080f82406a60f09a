// Types, batches and the judgement of foreign bytes: what a tool that speaks the protocol without a world needs.
#pragma once

#include "schema/language.h"

#include "messages/batch.h"
#include "messages/judge/verifier.h"
#include "messages/type_table.h"
#include "schema/builtin.h"
#include "schema/descriptor.h"
#include "schema/muster.h"
