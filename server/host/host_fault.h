// Defines the reason why a host does not do what it was asked.
#pragma once

#include <string>

namespace muster::hosting {

struct HostFault {
  unsigned status = 400;  ///< status of the HTTP answer
  std::string text;       ///< a sentence
};

}  // namespace muster::hosting
