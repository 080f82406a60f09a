// Owns a subscribed handler and ends it when destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace muster {

class EntityRegistry;

/// Ends the handler when destroyed. Move-only. May outlive its registry, but must not be destroyed
/// while a handler is running.
class [[nodiscard("destroying the Subscription ends the handler: keep it while the handler should run")]] Subscription {
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
  /// Gives up ownership. The caller must then end the handler by other means.
  std::uint64_t release() noexcept {
    registry_.reset();
    return std::exchange(ordinal_, 0);
  }
  Subscription(std::weak_ptr<EntityRegistry*> registry, std::uint64_t ordinal)
      : registry_(std::move(registry)), ordinal_(ordinal) {}
  std::weak_ptr<EntityRegistry*> registry_;
  std::uint64_t ordinal_ = 0;
};

/// The handlers of a game or plugin, as returned by an install function. All of them end together.
/// This class can also own objects that the handlers use.
class [[nodiscard("destroying the Handlers ends them: keep it while they should run")]] Handlers {
 public:
  Handlers() = default;
  Handlers(Handlers&&) noexcept = default;
  Handlers& operator=(Handlers&& other) noexcept {
    if (this == &other) return *this;
    end();
    all_ = std::move(other.all_);
    kept_ = std::move(other.kept_);
    return *this;
  }
  ~Handlers() { end(); }
  template <class... S>
    requires(std::is_same_v<S, Subscription> && ...)
  Handlers(S&&... subscriptions) {
    (add(std::move(subscriptions)), ...);
  }
  void add(Subscription&& subscription) { all_.push_back(std::move(subscription)); }
  void add(Handlers&& others) {
    for (Subscription& s : others.all_) all_.push_back(std::move(s));
    for (std::shared_ptr<void>& used : others.kept_) kept_.push_back(std::move(used));
    others.all_.clear();
    others.kept_.clear();
  }
  /// Takes shared ownership of an object that these handlers use, such as a manager or a subsystem,
  /// and returns a reference to it. The objects are released in reverse order, after all handlers
  /// have ended.
  template <class T>
  T& keep(std::shared_ptr<T> used) {
    T& it = *used;
    kept_.push_back(std::move(used));
    return it;
  }
  void keep(std::shared_ptr<void> used) { kept_.push_back(std::move(used)); }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  void end() noexcept {
    all_.clear();
    while (!kept_.empty()) kept_.pop_back();
  }
  std::vector<Subscription> all_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace muster
