// Creates a binary schema that contains a single tag. The tag is all that is known about a runtime
// component outside the C++ program.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster {

std::vector<std::byte> tag_schema(std::string_view full_name);

}  // namespace muster
