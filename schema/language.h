// Stops compilation with a clear error message if the language version is older than C++23.
#pragma once

#if __cplusplus < 202100L
#error "Muster needs C++23: compile with -std=c++23 (CMake: target_compile_features(game PRIVATE cxx_std_23))"
#endif
