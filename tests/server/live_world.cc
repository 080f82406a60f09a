#include "tests/server/live_world.h"

#include <catch2/catch.hpp>

#include "registry/host.h"
#include "server/world/time/work_time.h"
#include "tests/server/hand_world.h"

namespace muster::testing {

Subscription subscribe_damage(EntityRegistry& registry) {
  return registry.subscribe("arena.damage",
                            [](const arena::Damage& hit, arena::Health& health) { health.value -= hit.amount; });
}

LiveWorld::LiveWorld(LiveWorldOptions options) : options_(std::move(options)) {
  owner_ = std::thread([this] { own(); });
  try {
    ready_.get_future().get();
  } catch (...) {
    owner_.join();
    throw;
  }
}

LiveWorld::~LiveWorld() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    held_ = false;
  }
  wake();
  owner_.join();
}

LiveWorld::DeskCounters LiveWorld::desk_counters() {
  return run([this](EntityRegistry&) {
    world_thread.is_here();
    const QuestionCounters& counters = desk_->question_counters();
    return DeskCounters{counters.answered, counters.slices, counters.slice_steps_max, desk_->questions_waiting()};
  });
}

void LiveWorld::stop_listening() {
  run([this](EntityRegistry&) {
    listener_->stop();
    return 0;
  });
}

void LiveWorld::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_all();
}

void LiveWorld::own() {
  registry_ = std::make_unique<EntityRegistry>();
  registry_->add_type<arena::Health>();
  Subscription damage = subscribe_damage(*registry_);
  Subscription tell;
  if (options_.on_damage)
    tell = registry_->subscribe("arena.tell", [this](const arena::Damage&) { options_.on_damage(); });
  registry_->host().inbox().on_arrival([this] { wake(); });
  HandWorld host;
  host.on_wake = [this] { wake(); };
  host.on_wake_in = [this](std::chrono::nanoseconds time) {
    if (listener_) listener_->call_in(time, [this] { wake(); });
  };
  host.on_save = [this]() -> std::expected<void, std::string> {
    if (fail_saves_) return std::unexpected("the disk is full");
    return {};
  };
  host.gives_processor_ns = options_.processor_ns;
  if (!host.gives_processor_ns)
    host.gives_processor_ns = [clock = std::make_shared<FrequentProcessorClock>()] { return clock->now_ns(); };
  host.known.watch_thread = true;
  host.known.world = "arena";
  host.known.program = "test 1";
  desk_ = std::make_unique<Desk>(*registry_, host, options_.limits);
  ListenerOptions listening;
  listening.listen = options_.tcp ? "127.0.0.1:0" : "";
  listening.unix_path = options_.unix_path;
  listening.log = options_.log;
  listening.admissions = {
      {token, session::Role::admin}, {viewer_token, session::Role::view}, {editor_token, session::Role::edit}};
  if (!options_.page_folder.empty()) listening.page = PageFiles::read(options_.page_folder).value();
  listening.users_file = options_.users_file;
  listening.world_folder = options_.files_folder;
  listening.world_file = "arena.muster";
  try {
    listener_ = std::make_unique<Listener>(*desk_, std::move(listening));
  } catch (...) {
    desk_.reset();
    ready_.set_exception(std::current_exception());
    return;
  }
  ready_.set_value();
  const ProcessorClock clock = ProcessorClock::of_this_thread();
  const auto thread_ns = [&] { return static_cast<std::int64_t>(clock.now_ns()); };
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [&] { return (awake_ && !held_) || stopping_; });
    awake_ = false;
    const std::function<void()> task = std::exchange(task_, nullptr);
    lock.unlock();
    const std::int64_t begin_ns = thread_ns();
    desk_->before_flush();
    registry_->flush();
    desk_->after_flush(*registry_);
    longest_turn_ns_ = std::max(longest_turn_ns_.load(), thread_ns() - begin_ns);
    if (task) {
      task();
      wake();  // what it pushed is to be seen
    }
    lock.lock();
  }
  lock.unlock();
  listener_.reset();
  desk_.reset();
}

RawClient::RawClient(const std::string& address)
    : stream_(ByteStream::connect(address, std::chrono::steady_clock::now() + std::chrono::seconds(5)).value()) {}

void RawClient::send(std::span<const std::byte> bytes) {
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!bytes.empty()) {
    auto sent = stream_.send_some(bytes);
    if (!sent) return;  // the server has closed: what it said is read next
    bytes = bytes.subspan(*sent);
    if (*sent == 0 && stream_.wait(until, true) == ByteStream::Ready::neither) return;
  }
}

std::size_t RawClient::send_what_goes(std::span<const std::byte> bytes) {
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (true) {
    const auto sent = stream_.send_some(bytes);
    if (!sent) return 0;
    if (*sent > 0 || stream_.wait(until, true) == ByteStream::Ready::neither) return *sent;
  }
}

void RawClient::send_frame(std::span<const std::byte> batch, std::uint64_t request) {
  std::vector<std::byte> frame;
  append_frame(frame, batch, request);
  send(frame);
}

std::map<session::Role, std::string> tokens_by_role(const std::string& users_file) {
  Users users({}, users_file);
  std::map<session::Role, std::string> tokens{{session::Role::admin, token}};
  const std::pair<const char*, session::Role> named[] = {
      {"viewer", session::Role::view}, {"editor", session::Role::edit}, {"controller", session::Role::control}};
  for (const auto& [name, role] : named) tokens[role] = users.create(name, role, 0, Users::Clock::now()).value().token;
  return tokens;
}

session::Hello hello_with(std::string with_token) {
  session::Hello hello;
  hello.protocol = session::protocol_newest;
  hello.protocol_oldest = session::protocol_oldest;
  hello.token = std::move(with_token);
  return hello;
}

void RawClient::hello(std::string with_token) {
  send_message(hello_with(std::move(with_token)));
  const auto welcome = receive();
  REQUIRE(welcome);
  REQUIRE(welcome->is<session::Welcome>());
}

std::optional<Received> RawClient::receive() {
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (true) {
    auto frame = decoder_.next();
    if (!frame) return std::nullopt;
    if (*frame) return Received{(*frame)->header, (*frame)->envelope, {(*frame)->batch.begin(), (*frame)->batch.end()}};
    if (stream_.wait(until, false) == ByteStream::Ready::neither) return std::nullopt;
    auto got = stream_.receive_some(decoder_.room());
    if (!got) return std::nullopt;
    decoder_.received(*got);
  }
}

session::Fault RawClient::receive_fault() {
  const auto received = receive();
  REQUIRE(received);
  REQUIRE(received->is<session::Fault>());
  return session::read<session::Fault>(received->batch());
}

bool RawClient::closed() {
  const Deadline until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (true) {
    if (stream_.wait(until, false) == ByteStream::Ready::neither) return false;
    auto got = stream_.receive_some(decoder_.room());
    if (!got) return true;
    if (*got > 0) return false;
  }
}

}  // namespace muster::testing
