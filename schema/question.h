// A question is a message from a client to which the server sends exactly one answer. A message is
// a question if it has the attributes `answer` and `cost`, as in schema/session.fbs. From these
// attributes, schemac generates QuestionTraits and the table of handlers.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schema/descriptor.h"

namespace muster {

/// Determines how a server processes a question.
enum class QuestionCost : std::uint8_t {
  door,    ///< the session's own thread answers it; the world is not involved
  once,    ///< answered in one step, because the cost is low
  slices,  ///< answered in slices between the world's inputs
  seldom,  ///< cannot be split into slices; questions of this kind take up at most a quarter of the
           ///< time
};

/// Returns the name of a cost, as used in the attribute `cost` of schemas.
constexpr std::string_view cost_name(QuestionCost cost) noexcept {
  constexpr std::string_view names[] = {"door", "once", "slices", "seldom"};
  return names[static_cast<std::size_t>(cost)];
}

/// Describes a question declared in a schema.
struct QuestionDescriptor {
  TypeId question = 0;
  TypeId answer = 0;
  bool several = false;  ///< true if the answer may have several frames; every frame except the
                         ///< last has the flag `more`
  QuestionCost cost = QuestionCost::once;
};

/// Specialized by generated headers for every question:
///   using Answer                         the class of the answer
///   static constexpr bool several        true if the answer may have several frames
///   static constexpr QuestionCost cost
template <class Q>
struct QuestionTraits;

template <class Q>
concept QuestionType = requires { typename QuestionTraits<Q>::Answer; };

/// The type that a client returns for a question: the answer type, or a vector of it if the answer
/// may have several frames.
template <QuestionType Q>
using AnswerTo = std::conditional_t<QuestionTraits<Q>::several, std::vector<typename QuestionTraits<Q>::Answer>,
                                    typename QuestionTraits<Q>::Answer>;

}  // namespace muster
