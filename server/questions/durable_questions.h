// How much of the world is on the disk: FollowDurable, and the Durables that sessions are told by themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/questions/followers.h"
#include "server/questions/inquiry.h"
#include "server/world/durability.h"

namespace muster {

/// What writes the world that a desk stands in. Owner's thread, but for what is said of others. Functions may be null.
struct DurableHost {
  std::function<std::uint64_t()> saved_sequence = {};  ///< of the last input that is in the saved state; any thread
  /// Why nothing more becomes durable; null: it does. Meanwhile no edit is taken.
  std::function<const std::string*()> error = {};
  /// Why the last save that came by itself failed; null: it did not.
  std::function<const std::string*()> save_error = {};
  std::function<std::uint64_t()> journal_bytes = {};  ///< behind the saved state
  /// That the file or its journal becomes too large, a sentence; empty: it does not.
  std::function<std::string()> size_warning = {};
  Durability durability = Durability::checkpoint;
  std::chrono::nanoseconds autosave{0};  ///< how long after a save the next one comes by itself; 0: none does

  /// What error and save_error give now, as a text; empty: nothing.
  std::string error_text() const { return text_of(error); }
  std::string save_error_text() const { return text_of(save_error); }

 private:
  static std::string text_of(const std::function<const std::string*()>& given) {
    const std::string* const text = given ? given() : nullptr;
    return text ? *text : std::string();
  }
};

/// Owner's thread only.
class DurableQuestions {
 public:
  /// `sequence`: of the last input that is on the disk; may be null.
  DurableQuestions(std::function<std::uint64_t()> sequence, const DurableHost& host)
      : sequence_(std::move(sequence)), host_(host) {}

  /// The inquiry of FollowDurable; null: it is another question.
  std::unique_ptr<Inquiry> begin(const Asked& asked, BatchView question);
  /// Tells those who follow what is new: the newest only, as soon as their queue has room. To be called after each flush.
  void tell();
  /// The session ended.
  void leave(const Session& session);
  session::Durable state() const;

 private:
  /// Counts what has changed by itself.
  void notice();

  const std::function<std::uint64_t()> sequence_;
  const DurableHost& host_;
  Followers followers_;
  std::uint64_t durable_ = 0, saved_ = 0;
  std::string error_;
};

}  // namespace muster
