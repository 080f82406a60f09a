// Which inquiry answers which question about entities, texts, templates, timers and handlers.
#pragma once

#include <functional>
#include <memory>

#include "messages/batch.h"
#include "server/questions/inquiry.h"

namespace muster {

class Watches;

/// The inquiry of ListChildren, Resolve, Find, Show, GetText, ListTimers, ListHandlers, or of what is asked about templates; the
/// question was judged. Null: it is none of these. Owner's thread, between inputs.
std::unique_ptr<Inquiry> begin_question(const Asked& asked, BatchView question);
/// Makes the inquiry of work that is done seldom.
using Opening = std::function<std::unique_ptr<Inquiry>(std::function<void()> work)>;
/// The inquiry of Watch, Follow, FollowMore or Unwatch; the question was judged. Null: it is none of these.
std::unique_ptr<Inquiry> begin_watch_question(const Asked& asked, BatchView question, Watches& watches,
                                              const Opening& opening);

}  // namespace muster
