// What a file finds of the flags that it was compiled with: once for each set of them.
#include "registry/arithmetic.h"

std::uint32_t NAME();
std::uint32_t NAME() { return muster::detail::arithmetic_here(); }
