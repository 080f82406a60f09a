// Two runtime components that find out when they are copied as bytes, ended twice or never. Their values are of one process:
// after a load they begin anew, which nothing that is saved may show.
#pragma once

#include <cstdint>
#include <memory>

#include "registry/storage/runtime_type.h"

namespace naive {

/// Counts its living values over all registries.
template <int kind>
class Sounding {
 public:
  Sounding() : value_(std::make_unique<std::uint64_t>(7)) { ++alive_; }
  Sounding(Sounding&& other) noexcept : value_(std::move(other.value_)) { ++alive_, ++moved_; }
  Sounding& operator=(Sounding&&) = delete;
  ~Sounding() {
    if (self_ != this) __builtin_trap();  // moved as bytes, or ended twice
    self_ = nullptr;
    --alive_;
  }
  std::uint64_t value() const { return *value_; }
  void say(std::uint64_t word) { *value_ = *value_ * 31 + word; }
  void restore(std::uint64_t value) { *value_ = value; }
  static std::uint64_t alive() { return alive_; }
  static std::uint64_t moved() { return moved_; }

 private:
  std::unique_ptr<std::uint64_t> value_;
  const Sounding* self_ = this;
  inline static std::uint64_t alive_ = 0, moved_ = 0;
};

/// Handlers read and write it.
using Voice = Sounding<0>;
/// No handler takes it, so it can be forgotten and known again.
using Spark = Sounding<1>;

/// What the restore hooks give a value.
constexpr std::uint64_t restored(muster::Entity e) { return 1000 + e.index; }

}  // namespace naive

template <>
struct muster::RuntimeTraits<naive::Voice> {
  static constexpr std::string_view name = "trial.Voice";
};
template <>
struct muster::RuntimeTraits<naive::Spark> {
  static constexpr std::string_view name = "trial.Spark";
};
