// CHECK, REQUIRE, INFO and FAIL: Catch2's, or, in a program of fuzzing that defines MUSTER_CHECKS_ABORT, such that end it.
#pragma once

#ifdef MUSTER_CHECKS_ABORT
#include <cstdio>
#include <cstdlib>
#define MUSTER_HOLDS(...)                                                                   \
  do {                                                                                      \
    if (!(__VA_ARGS__)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::abort();                                                                         \
    }                                                                                       \
  } while (false)
#define REQUIRE(...) MUSTER_HOLDS(__VA_ARGS__)
#define CHECK(...) MUSTER_HOLDS(__VA_ARGS__)
#define INFO(...)
#define FAIL(...) MUSTER_HOLDS(false && #__VA_ARGS__)
#else
#include <catch2/catch.hpp>
#endif
