#include "server/desk/asked_figures.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "server/figures/metrics_text.h"

namespace muster {
namespace {

// Time limit for the world thread to supply its figures.
constexpr auto figures_time = std::chrono::milliseconds(2000);

/// Returns the answer that consists of the figures, or of the reason why there are none.
HttpAnswer figures_answer(const Figures* figures, const std::string& hang, bool metrics, std::uint32_t connections,
                          bool drains) {
  HttpAnswer answer;
  answer.status = figures && !drains && (metrics || figures->disk_error.empty()) ? 200 : 503;
  const bool table = metrics && figures;
  answer.fields = {{"Content-Type", table ? "text/plain; version=0.0.4; charset=utf-8" : "text/plain; charset=utf-8"},
                   {"Cache-Control", "no-store"}};
  if (!figures)
    answer.text = hang.empty() ? "the world did not answer within 2 s\n" : "the world does not answer: " + hang + "\n";
  else if (drains)
    answer.text = "the server will stop soon, and accepts no new sessions\n";
  else
    answer.text = metrics ? metrics_text(*figures, connections) : health_text(*figures);
  return answer;
}

}  // namespace

Site::AskFigures asked_figures(Desk& desk, CallLater call_later, std::function<std::uint32_t()> connections,
                               std::function<bool()> drains, std::function<std::string()> more) {
  return [&desk, call_later = std::move(call_later), connections = std::move(connections), drains = std::move(drains),
          more = std::move(more)](bool metrics, std::function<void(HttpAnswer)> then) {
    const std::uint32_t open = connections();
    const bool is_draining = !metrics && drains && drains();
    if (const std::string hang = desk.world().hang(); !hang.empty())
      return then(figures_answer(nullptr, hang, metrics, open, is_draining));
    // Whichever comes first, the figures or the end of the time, supplies the answer.
    const auto is_answered = std::make_shared<std::atomic<bool>>(false);
    call_later(figures_time, [&desk, is_answered, then, metrics, open, is_draining] {
      if (!is_answered->exchange(true)) then(figures_answer(nullptr, desk.world().hang(), metrics, open, is_draining));
    });
    const std::string added = metrics && more ? more() : std::string();
    desk.ask_figures([is_answered, then = std::move(then), metrics, open, is_draining, added](const Figures& figures) {
      if (is_answered->exchange(true)) return;
      HttpAnswer answer = figures_answer(&figures, {}, metrics, open, is_draining);
      answer.text += added;
      then(std::move(answer));
    });
  };
}

}  // namespace muster
