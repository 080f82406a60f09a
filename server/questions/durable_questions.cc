#include "server/questions/durable_questions.h"

#include <algorithm>

#include "server/questions/answers.h"

namespace muster {
namespace {

constexpr std::size_t state_bytes = 512;

session::Durability told(Durability durability) {
  switch (durability) {
    case Durability::commit: return session::Durability::commit;
    case Durability::batched: return session::Durability::batched;
    case Durability::checkpoint: break;
  }
  return session::Durability::checkpoint;
}

}  // namespace

session::Durable DurableQuestions::state() const {
  session::Durable state;
  state.sequence = sequence_ ? sequence_() : 0;
  state.saved_sequence = host_.saved_sequence ? host_.saved_sequence() : state.sequence;
  state.durability = told(host_.durability);
  state.autosave_ns = static_cast<std::uint64_t>(host_.autosave.count());
  if (const std::string* const error = host_.error ? host_.error() : nullptr) state.error = *error;
  return state;
}

std::unique_ptr<Inquiry> DurableQuestions::begin(const Asked& asked, BatchView question) {
  if (question.type() != TypeTraits<session::FollowDurable>::id) return nullptr;
  return std::make_unique<Once>(
      asked,
      [this, asked](Steps&) {
        notice();
        answer(asked.to(), asked.request, state());
        if (std::ranges::find(followers_, asked.from, &Follower::session) == followers_.end())
          followers_.push_back({asked.from, changes_});
      },
      state_bytes);
}

void DurableQuestions::notice() {
  session::Durable now = state();
  if (now.sequence == durable_ && now.saved_sequence == saved_ && now.error == error_) return;
  ++changes_;
  durable_ = now.sequence;
  saved_ = now.saved_sequence;
  error_ = std::move(now.error);
}

void DurableQuestions::tell() {
  if (followers_.empty()) return;
  notice();
  for (Follower& follower : followers_) {
    if (follower.told == changes_ || !follower.session->outgoing->has_answer_room(state_bytes)) continue;
    follower.told = changes_;
    answer(*follower.session, 0, state());
  }
}

void DurableQuestions::leave(const Session& session) {
  std::erase_if(followers_, [&](const Follower& follower) { return follower.session.get() == &session; });
}

}  // namespace muster
