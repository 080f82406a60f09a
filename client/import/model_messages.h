// Converts an imported model to the world messages that create it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "client/import/model.h"
#include "messages/batch_builder.h"
#include "messages/type_table.h"

namespace muster {

/// Specifies where a model is placed in a world, and the names that the model's root and file have
/// there.
struct ModelPlacement {
  Entity parent;          ///< nil makes the model's root a root of the world
  std::string root_name;  ///< The root's name, which must be free (see free_name). If empty, the
                          ///< root keeps its name in the file, even if that name is taken.
  /// The model file relative to the folder of the world file, with "/" between folders.
  std::string asset;
};

/// Appends, in this order: InternText for every text; Create for the root, in a separate batch; and
/// Create for all other entities with their components, level by level, so that parents come before
/// their children and children end up in file order. Within a level, entities with the same
/// components share a batch, up to the batch size of `out`. Names are made unique among siblings.
/// `ids` are granted ids, one for each entity of the model in order.
void append_model(BatchWriter& out, const ImportedModel& model, const ModelPlacement& placement,
                  std::span<const Entity> ids);

/// Returns `name` if it is free; otherwise adds the smallest suffix "~2", "~3", ... that makes it
/// free. A long name is truncated before the suffix.
std::string free_name(std::string_view name, const std::function<bool(std::string_view)>& is_taken);

/// Returns an empty string if a world with these types can accept imports. Otherwise, returns a
/// sentence that names a type that is missing or has a different layout.
std::string missing_import_types(const TypeTable& types);

}  // namespace muster
