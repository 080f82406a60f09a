// How often this program has asked for memory since it began; see allocations.cc.
#pragma once

#include <cstdint>

std::uint64_t allocations() noexcept;
