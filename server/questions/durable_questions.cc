#include "server/questions/durable_questions.h"

#include "server/questions/answers.h"

namespace muster {
namespace {

constexpr std::size_t durable_state_bytes = 512;

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
  state.error = host_.error_text();
  return state;
}

std::unique_ptr<Inquiry> DurableQuestions::begin(const Asked& asked, BatchView question) {
  if (question.type() != TypeTraits<session::FollowDurable>::id) return nullptr;
  return std::make_unique<Once>(
      asked,
      [this, asked](Steps&) {
        notice();
        answer(asked.to(), asked.request, state());
        followers_.add(asked.from);
      },
      durable_state_bytes);
}

void DurableQuestions::notice() {
  session::Durable now = state();
  if (now.sequence == durable_ && now.saved_sequence == saved_ && now.error == error_) return;
  followers_.note_change();
  durable_ = now.sequence;
  saved_ = now.saved_sequence;
  error_ = std::move(now.error);
}

void DurableQuestions::tell() {
  if (followers_.empty()) return;
  notice();
  followers_.tell(durable_state_bytes, [this] { return state(); });
}

void DurableQuestions::leave(const Session& session) { followers_.remove(session); }

}  // namespace muster
