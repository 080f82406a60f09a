// For tests that play all threads of a server themselves, one after another, or that order them by
// other means: turns off the compiler's check of which thread calls what (system/thread_role.h).
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wthread-safety-analysis"
#pragma clang diagnostic ignored "-Wthread-safety-reference"
#endif
