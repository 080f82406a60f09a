// Makes a binary schema with one tag in it. Outside the C++ program, nothing more is known of a runtime component.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster {

std::vector<std::byte> tag_schema(std::string_view full_name);

}  // namespace muster
