// Defines the member functions of Client that open, change, and end watches, and those that fetch
// the frames of watches.
#include <algorithm>

#include "client/cpp/client_impl.h"

namespace muster {

Result<std::uint64_t> Client::follow(session::Follow what) {
  if (auto fits = check_follow(what); !fits) return std::unexpected(fits.error());
  what.watch = 0;
  BatchBuilder builder;
  session::append(builder, what);
  const std::uint64_t id = ++impl_->last_request;
  Impl::Watch& queue = impl_->watches[id];
  queue.follows = what;
  auto sent = impl_->put(builder.bytes(), id);
  if (sent) sent = impl_->pump(impl_->deadline(), [&] { return !queue.frames.empty() || queue.failed; });
  if (sent && queue.frames.empty()) sent = std::unexpected(*queue.failed);
  if (!sent) {
    impl_->watches.erase(id);
    if (sent.error().kind == ClientError::Kind::late) impl_->given_up.insert(id);
    return std::unexpected(impl_->late_watch(sent.error()));
  }
  if (queue.frames.front().is<session::Fault>()) {
    const ClientError why = error_of(session::read<session::Fault>(queue.frames.front().batch()));
    impl_->watches.erase(id);
    return std::unexpected(why);
  }
  return id;
}

Result<void> Client::check_follow(const session::Follow& what) const {
  for (const auto* const types : {&what.components, &what.input_types, &what.pushed})
    if (auto fits = check_types(*types); !fits) return fits;
  return {};
}

Result<session::Followed> Client::follow(std::uint64_t watch, session::Follow what) {
  if (auto fits = check_follow(what); !fits) return std::unexpected(fits.error());
  what.watch = watch;
  if (const auto open = impl_->watches.find(watch); open != impl_->watches.end()) open->second.follows = what;
  auto changed = ask(what);
  if (!changed) return std::unexpected(impl_->late_watch(changed.error()));
  return changed;
}

Result<session::Followed> Client::follow_more(const session::FollowMore& what) {
  if (const auto open = impl_->watches.find(what.watch); open != impl_->watches.end()) {
    const auto merge = [](std::vector<Entity>& list, const std::vector<Entity>& drop, const std::vector<Entity>& add) {
      const std::unordered_set<Entity> changed = [&] {
        std::unordered_set<Entity> all(drop.begin(), drop.end());
        all.insert(add.begin(), add.end());
        return all;
      }();
      std::erase_if(list, [&](Entity e) { return changed.contains(e); });
      list.insert(list.end(), add.begin(), add.end());
    };
    merge(open->second.follows.entities, what.drop, what.add);
    merge(open->second.follows.open, what.close, what.open);
  }
  auto changed = ask(what);
  if (!changed) return std::unexpected(impl_->late_watch(changed.error()));
  return changed;
}

Result<void> Client::unwatch(std::uint64_t watch) {
  auto ended = ask(session::Unwatch{.watch = watch});
  impl_->watches.erase(watch);
  if (!ended) return std::unexpected(impl_->late_watch(ended.error()));
  return {};
}

std::uint64_t Client::received_bytes() const noexcept { return impl_->received_bytes; }

Result<void> Client::give_credit(std::uint64_t bytes) {
  std::uint64_t waiting = 0;
  for (const auto& [id, queue] : impl_->watches) waiting += queue.stream_bytes;
  session::Credit credit;
  impl_->credit_bytes = std::min(bytes, std::uint64_t{1} << 62);
  credit.through = impl_->received_bytes - waiting + std::min(bytes, std::uint64_t{1} << 62);
  BatchBuilder builder;
  session::append(builder, credit);
  return impl_->put(builder.bytes(), 0);
}

ClientError Client::Impl::late_watch(ClientError why) const {
  if (why.kind == ClientError::Kind::late && is_out_of_credit())
    why.text += "; the watches' credit is used up: call give_credit to continue";
  return why;
}

Result<std::optional<Received>> Client::next(std::uint64_t watch, std::chrono::nanoseconds time) {
  if (watch != 0 && !impl_->watches.contains(watch)) return mistaken("no watch has the id " + std::to_string(watch));
  Impl::Watch* ready = nullptr;
  const auto any = [&] {
    for (auto& [id, queue] : impl_->watches)
      if ((watch == 0 || watch == id) && (!queue.frames.empty() || queue.failed)) {
        ready = &queue;
        return true;
      }
    return false;
  };
  if (auto pumped = impl_->pump(std::chrono::steady_clock::now() + time, any); !pumped && !ready) {
    if (pumped.error().kind == ClientError::Kind::late) return std::optional<Received>();
    return std::unexpected(pumped.error());
  }
  if (ready->frames.empty()) return std::unexpected(*ready->failed);
  Received received = std::move(ready->frames.front());
  ready->frames.pop_front();
  ready->bytes -= received.bytes.size();
  // Frames of an earlier connection do not count.
  ready->stream_bytes -= std::min<std::uint64_t>(ready->stream_bytes, received.header.bytes);
  if (received.is<session::Fault>()) return std::unexpected(error_of(session::read<session::Fault>(received.batch())));
  return received;
}

}  // namespace muster
