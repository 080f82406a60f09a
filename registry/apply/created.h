// The result of creating an entity with a name, under a parent, or from a template. The registry
// may refuse such a creation.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "registry/apply/receipt.h"

namespace muster {

class EntityRegistry;

namespace detail {

/// The reason why an entity was not created.
struct RefusedCreation {
  Refusal refusal;
  std::string text;
};
/// The result of an attempt to create an entity. Fits into two registers. If `refused` is not null,
/// the receiver owns it.
struct Made {
  Entity id;
  RefusedCreation* refused = nullptr;
};

}  // namespace detail

/// The id of a new entity, or the reason why the entity was not created. Converts to the id, so the
/// result of create() can be used as an Entity. If the entity was refused, the conversion stops the
/// program with an error that contains text(). Code that can continue without the entity should
/// test the value first:
///
///   if (const muster::Created orc = registry.create("orc", Health{}))
///     registry.push(orc, Damage{.amount = 7});
///   else
///     show(orc.text());
class [[nodiscard(
    "the registry may have refused: use the id, test the result, or write create(...).or_stop()")]] Created {
 public:
  /// True if the entity was created.
  explicit operator bool() const noexcept { return refused_ == nullptr; }
  operator Entity() const noexcept { return or_stop(); }
  /// Returns the id. Stops the program if the entity was refused.
  Entity or_stop() const noexcept {
    if (refused_) [[unlikely]]
      stop();
    return id_;
  }
  /// Returns the refusal. `code` is `none` if the entity was created. `entity` is the entity that
  /// text() names.
  Refusal refusal() const noexcept { return refused_ ? refused_->refusal : Refusal{}; }
  /// Returns the refusal as a sentence, or an empty string if the entity was created. Valid for the
  /// lifetime of this value.
  std::string_view text() const noexcept { return refused_ ? refused_->text : std::string_view{}; }

 private:
  friend class EntityRegistry;
  explicit Created(detail::Made made) noexcept : id_(made.id), refused_(made.refused) {}
  [[noreturn]] void stop() const noexcept;

  Entity id_;
  std::unique_ptr<const detail::RefusedCreation> refused_;
};

}  // namespace muster
