#include "registry/handlers/thrown.h"

#include <string>

#include "messages/require.h"
#include "registry/handlers/types_known.h"

namespace muster {

void handler_threw(const Handler& handler, const TypesKnown& types, std::string_view what) noexcept {
  const TypeDescriptor* type = types.table().find(handler.message);
  fatal("handler \"" + handler.name + "\" threw while handling " + (type ? type->name : std::string("?")) + ": " +
        std::string(what));
}

}  // namespace muster
