#include "server/questions/durable_questions.h"

#include "server/questions/answer_sources.h"
#include "server/questions/question_table.h"

namespace muster {
namespace {

constexpr std::size_t durable_state_bytes = 512;

session::Durability told(Durability durability) {
  switch (durability) {
    case Durability::each_flush: return session::Durability::each_flush;
    case Durability::batched: return session::Durability::batched;
    case Durability::checkpoint: break;
  }
  return session::Durability::checkpoint;
}

}  // namespace

session::Durable DurableQuestions::state() const {
  session::Durable state;
  state.sequence = world_.durable_sequence();
  state.saved_sequence = world_.saved_sequence();
  state.durability = told(world_.facts().durability);
  state.autosave_ns = static_cast<std::uint64_t>(world_.facts().autosave.count());
  state.error = text_of(world_.recording_error());
  return state;
}

void DurableQuestions::follow(const Asked& asked) {
  notice();
  asked.answer(state());
  followers_.add(asked.from);
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

void answer_once(const Asked& asked, const session::FollowDurable&, Steps&) { asked.of().durable.follow(asked); }

}  // namespace muster
