// An imported model as the world messages that bring it into being.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "client/import/model.h"
#include "messages/batch_builder.h"
#include "messages/type_table.h"

namespace muster {

/// Where a model goes, and what its root and its file are called there.
struct ModelPlacement {
  Entity parent;          ///< nil: its root becomes a root of the world
  std::string root_name;  ///< must be free there (free_name); empty: as in the file, free or not
  /// The model file relative to the folder of the world file, with "/" between folders.
  std::string asset;
};

/// Appends, in this order: InternText for every text; Create for the root, in a batch of its own;
/// Create for all others with their components, level by level, so that parents come before their
/// children and children end in the file's order. Within a level those with the same components
/// share a batch, as far as `out` lets batches grow. Names are made unique among siblings. `ids`
/// are granted ids, one for each entity of the model in order.
void append_model(BatchWriter& out, const ImportedModel& model, const ModelPlacement& placement,
                  std::span<const Entity> ids);

/// `name`, or with the smallest suffix "~2", "~3", ... that makes it free. A long name is cut
/// before its suffix.
std::string free_name(std::string_view name, const std::function<bool(std::string_view)>& is_taken);

/// Nothing where a world of these types can take imports; otherwise a sentence that names the type
/// that is missing or has another layout.
std::string missing_import_types(const TypeTable& types);

}  // namespace muster
