// A handler's life: it ends with its Subscription.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace muster {

class EntityRegistry;

/// Move-only; ends the handler when it goes. May outlive its registry. Must not go while a handler runs.
class Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&& other) noexcept
      : registry_(std::exchange(other.registry_, {})), ordinal_(std::exchange(other.ordinal_, 0)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      end();
      registry_ = std::exchange(other.registry_, {});
      ordinal_ = std::exchange(other.ordinal_, 0);
    }
    return *this;
  }
  ~Subscription() { end(); }
  /// Ends the handler now.
  void end() noexcept;
  explicit operator bool() const noexcept { return ordinal_ != 0; }

 private:
  friend class EntityRegistry;
  friend class Outbox;
  /// Somebody else will end the handler.
  std::uint64_t release() noexcept {
    registry_.reset();
    return std::exchange(ordinal_, 0);
  }
  Subscription(std::weak_ptr<EntityRegistry*> registry, std::uint64_t ordinal)
      : registry_(std::move(registry)), ordinal_(ordinal) {}
  std::weak_ptr<EntityRegistry*> registry_;
  std::uint64_t ordinal_ = 0;
};

/// What an install function returns: the handlers of one game or plugin, ended together.
class Handlers {
 public:
  Handlers() = default;
  template <class... S>
    requires(std::is_same_v<S, Subscription> && ...)
  Handlers(S&&... subscriptions) {
    (add(std::move(subscriptions)), ...);
  }
  void add(Subscription&& subscription) { all_.push_back(std::move(subscription)); }
  void add(Handlers&& others) {
    for (Subscription& s : others.all_) all_.push_back(std::move(s));
    others.all_.clear();
  }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<Subscription> all_;
};

}  // namespace muster
