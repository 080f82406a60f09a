// Makes slices of worlds for download, so that no other work waits for them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/door/disk_thread.h"
#include "server/web/slice_answer.h"

namespace muster {

/// Makes one slice at a time, on a thread of its own. Used on the listener's thread.
class SliceMaker {
 public:
  /// Calls `then` once, on any thread, with the slice_answer() for `path` and `hashes`, or with
  /// status 503 if another slice is being made. Not called if this object is destroyed before that.
  void make(std::string path, std::function<void(HttpAnswer)> then, std::string hashes = {}) {
    if (works_->exchange(true))
      return then(http_sentence(503, "another slice is being made; try again when it is complete"));
    auto answer = std::make_shared<HttpAnswer>();
    thread_.run(
        [answer, path = std::move(path), hashes = std::move(hashes), works = works_] {
          *answer = slice_answer(path, hashes);
          works->store(false);
        },
        [answer, then = std::move(then)] { then(std::move(*answer)); });
  }

 private:
  std::shared_ptr<std::atomic<bool>> works_ = std::make_shared<std::atomic<bool>>(false);
  DiskThread thread_;
};

}  // namespace muster
