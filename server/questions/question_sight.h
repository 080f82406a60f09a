// Decides, for each question, how a user with limited sight is answered. A question without a
// decision does not compile.
#pragma once

#include <cstdint>

#include "messages/session.h"

namespace muster {

enum class QuestionSight : std::uint8_t {
  none,    ///< the answer contains nothing of the world
  judged,  ///< the handler leaves out what the user may not see
  whole,   ///< the answer may contain anything, so these users get a `no_right` Fault
};

/// The decision for question Q.
template <class Q>
struct SightOfQuestion;

template <QuestionSight decision>
struct SightDecision {
  static constexpr QuestionSight value = decision;
};

template <>
struct SightOfQuestion<session::CleanTokens> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::CreateToken> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::Drain> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::FollowDurable> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::GetClock> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::Heartbeat> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::Kick> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::ListTokens> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::RequestGrant> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::RevokeToken> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::RotateToken> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::Save> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::SetClock> : SightDecision<QuestionSight::none> {};
template <>
struct SightOfQuestion<session::Unwatch> : SightDecision<QuestionSight::none> {};

template <>
struct SightOfQuestion<session::Find> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::Follow> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::FollowMore> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetHistory> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetInfo> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetPresence> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetRun> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetSchema> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetTemplate> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::GetText> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::ListChildren> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::ListSessions> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::ListTemplates> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::ListTimers> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::Play> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::Resolve> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::ResumeWatches> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::SetPresence> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::Show> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::StopPlaying> : SightDecision<QuestionSight::judged> {};
template <>
struct SightOfQuestion<session::Undo> : SightDecision<QuestionSight::judged> {};

template <>
struct SightOfQuestion<session::AddSchema> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::BeginTrace> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::DropTexts> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::DryRun> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::EndTrace> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::GetActivity> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::GetLoad> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::GetPast> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::GetRunEdits> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::Keep> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::ListEnded> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::ListHandlers> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::ReadLog> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::ReadTemplates> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::Reload> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::RemoveOf> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::Restore> : SightDecision<QuestionSight::whole> {};
template <>
struct SightOfQuestion<session::WhyApart> : SightDecision<QuestionSight::whole> {};

}  // namespace muster
