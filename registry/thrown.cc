#include "registry/thrown.h"

#include <string>

#include "registry/fatal.h"
#include "registry/types_known.h"

namespace muster {

void handler_threw(const Handler& handler, const TypesKnown& types, std::string_view what) noexcept {
  const TypeDescriptor* type = types.table().find(handler.message);
  fatal("handler \"" + handler.name + "\" threw while it handled " + (type ? type->name : std::string("?")) + ": " +
        std::string(what));
}

}  // namespace muster
