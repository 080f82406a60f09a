// Where the editor's page is, when nobody says.
#pragma once

#include <string>

namespace muster {

/// Of a program that runs where it was built: what was built with it. Of others: what was installed. Empty where there is none.
std::string default_page_folder();

}  // namespace muster
