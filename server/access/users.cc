#include "server/access/users.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "messages/utf8.h"
#include "schema/hex.h"
#include "schema/kinds.h"
#include "system/open_file.h"
#include "system/sync_folder.h"

namespace muster {
namespace {

constexpr std::string_view title = "muster-users 1";

bool parse_hex(std::string_view text, TokenHash& hash) noexcept {
  if (text.size() != 2 * hash.size()) return false;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const char* const at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, hash[i], 16).ptr != at + 2) return false;
  }
  return true;
}

/// Returns the text before the next space, and removes both from `line`.
std::string_view word(std::string_view& line) noexcept {
  const std::string_view found = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(found.size() + 1, line.size()));
  return found;
}

bool parse_number(std::string_view text, std::uint64_t& number) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && !text.empty() && end == text.data() + text.size();
}

/// If the name is invalid, returns the reason. Otherwise, returns an empty string.
std::string wrong_name(std::string_view name) {
  if (name.empty() || name.size() > Users::name_bytes_max)
    return "a user's name has 1 to " + std::to_string(Users::name_bytes_max) + " bytes";
  const bool controls = std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (controls || utf8_prefix(name) != name.size()) return "a user's name is one line of UTF-8";
  if (name.front() == ' ' || name.back() == ' ') return "a user's name neither begins nor ends with a space";
  return {};
}

bool parse_user(std::string_view line, User& user) {
  if (!parse_number(word(line), user.number)) return false;
  const std::string_view role = word(line), until = word(line), hash = word(line);
  user.name = line;
  if (!parse_number(until, user.expires_s) || !wrong_name(user.name).empty()) return false;
  if (role == "revoked") return hash == "-";
  const auto right = right_named(role);
  if (!right || *right == RemoteRight::none) return false;
  user.role = *right;
  if (!parse_hex(hash, user.hash)) return false;
  user.id = id_of_token(user.hash);
  return true;
}

bool is_over(const User& user, Users::Clock::time_point now) noexcept {
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  return user.expires_s != 0 && static_cast<std::uint64_t>(std::max<std::int64_t>(now_s, 0)) >= user.expires_s;
}

/// Reads to the end of the file. Returns 0 on success, or the value of errno on failure.
int read_all(int descriptor, std::string& text) {
  char block[4096];
  for (;;) {
    const ssize_t bytes = ::read(descriptor, block, sizeof block);
    if (bytes == 0) return 0;
    if (bytes > 0)
      text.append(block, static_cast<std::size_t>(bytes));
    else if (errno != EINTR)
      return errno;
  }
}

UserFault not_written(const std::string& path) {
  return {"users_file", "the users cannot be written to " + path + ": " + std::strerror(errno)};
}

}  // namespace

bool has_blank_letters(std::string_view name) {
  // U+00AD, U+034F, U+115F, U+1160, U+17B4, U+17B5, U+180B to U+180F, U+200B to U+200D, U+2060 to
  // U+2064, U+2800, U+3164, U+FE00 to U+FE0F, U+FFA0, U+E0000 to U+E0FFF
  constexpr std::string_view blanks[] = {
      "\xc2\xad",     "\xcd\x8f",     "\xe1\x85\x9f", "\xe1\x85\xa0", "\xe1\x9e\xb4", "\xe1\x9e\xb5", "\xe1\xa0\x8b",
      "\xe1\xa0\x8c", "\xe1\xa0\x8d", "\xe1\xa0\x8e", "\xe1\xa0\x8f", "\xe2\x80\x8b", "\xe2\x80\x8c", "\xe2\x80\x8d",
      "\xe2\x81\xa0", "\xe2\x81\xa1", "\xe2\x81\xa2", "\xe2\x81\xa3", "\xe2\x81\xa4", "\xe2\xa0\x80", "\xe3\x85\xa4",
      "\xef\xb8\x80", "\xef\xb8\x81", "\xef\xb8\x82", "\xef\xb8\x83", "\xef\xb8\x84", "\xef\xb8\x85", "\xef\xb8\x86",
      "\xef\xb8\x87", "\xef\xb8\x88", "\xef\xb8\x89", "\xef\xb8\x8a", "\xef\xb8\x8b", "\xef\xb8\x8c", "\xef\xb8\x8d",
      "\xef\xb8\x8e", "\xef\xb8\x8f", "\xef\xbe\xa0", "\xf3\xa0"};
  return std::ranges::any_of(blanks, [&](std::string_view blank) { return name.find(blank) != name.npos; });
}

std::string draw_token() {
  static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::random_device device;
  std::string token;
  for (int i = 0; i < 32; ++i) token += letters[device() & 31];
  return token;
}

Users::Users(const std::vector<Admission>& own, std::string path, std::string world)
    : path_(std::move(path)), world_(std::move(world)) {
  set_own(own);
  if (!path_.empty()) read();
}

void Users::set_own(const std::vector<Admission>& own) {
  own_.clear();
  for (const Admission& each : own)
    if (!each.token.empty()) own_.push_back({hash_of_token(each.token), each.role});
}

void Users::read() {
  const int descriptor = open_file(path_.c_str(), O_RDONLY);
  int why = descriptor < 0 ? errno : 0;
  if (why == ENOENT) return;
  std::string text;
  if (why == 0) why = read_all(descriptor, text);
  if (descriptor >= 0) ::close(descriptor);
  if (why == EINVAL || why == ELOOP)
    throw ServerError("the users cannot be read from " + path_ + ": " +
                      (why == ELOOP ? "a symbolic link" : "not a regular file"));
  if (why != 0) throw ServerError("the users cannot be read from " + path_ + ": " + std::strerror(why));
  std::istringstream file(text);
  std::string line, of_world;
  std::uint64_t count = 0;
  next_ = 0;  // 0 until the line has been read
  for (int number = 1; std::getline(file, line); ++number) {
    const auto refuse = [&](const char* expected) {
      throw ServerError(path_ + ", line " + std::to_string(number) + ": " + expected);
    };
    if (file.eof()) refuse("the list ends inside a line");
    if (number == 1) {
      if (line != title)
        refuse("not a list of users that this program can read; its first line would be \"muster-users 1\"");
    } else if (number == 2) {
      std::string_view rest = line;
      const bool has_next = word(rest) == "next" && parse_number(word(rest), next_) && next_ > 0;
      count = next_ - 1;
      const bool has_count = rest.empty() || (word(rest) == "users" && parse_number(rest, count) && count < next_);
      if (!has_next || !has_count) refuse("\"next NUMBER\" is expected");
    } else if (number == 3 && line.starts_with("world ")) {
      of_world = line.substr(6);
      if (of_world.size() != 32) refuse("\"world\" and 32 hexadecimal digits are expected");
    } else {
      User user;
      if (!parse_user(line, user)) refuse("\"NUMBER ROLE SECONDS HASH NAME\" is expected");
      const std::uint64_t before = users_.empty() ? 0 : users_.back().number;
      if (count == next_ - 1 && user.number != before + 1) refuse("users' numbers must be 1, 2, 3 ... without gaps");
      if (count != next_ - 1 && (user.number <= before || user.number >= next_))
        refuse("users' numbers must rise, and stay below the next one");
      users_.push_back(std::move(user));
    }
  }
  if (next_ == 0 || count != users_.size())
    throw ServerError(path_ + ": it has " + std::to_string(users_.size()) +
                      " users, and its second line says that the next one is " + std::to_string(next_) +
                      (next_ == 0 || count + 1 == next_ ? "" : ", of " + std::to_string(count) + " users"));
  if (world_.empty()) {
    world_ = std::move(of_world);
  } else if (of_world.empty()) {
    if (auto written = write(change_to(users_, 0)); !written) throw ServerError(written.error().text);
  } else if (of_world != world_) {
    throw ServerError(path_ + " lists the users of a different world. Move it to that world, or away");
  }
}

Admitted Users::admit(std::string_view token, Clock::time_point now) const {
  const TokenHash hash = hash_of_token(token);
  Admitted admitted;
  for (const Own& own : own_)
    if (equal_in_constant_time(own.hash, hash)) admitted.rights = {own.role};
  for (const User& user : users_)
    if (equal_in_constant_time(user.hash, hash) && user.role != session::Role::none && !is_over(user, now))
      admitted = {{user.role}, user.number, user.name};
  return admitted;
}

std::optional<Users::Known> Users::known(std::span<const std::uint8_t> id, Clock::time_point now) const {
  std::optional<Known> found;
  for (const Own& own : own_)
    if (equal_in_constant_time(own.id, id)) found = {{{own.role}}, own.hash};
  for (const User& user : users_)
    if (equal_in_constant_time(user.id, id) && user.role != session::Role::none && !is_over(user, now))
      found = {{{user.role}, user.number, user.name}, user.hash};
  return found;
}

bool Users::may_stay(const Admitted& admitted, Clock::time_point now) const {
  if (admitted.user == 0) return true;
  const User* const user = numbered(admitted.user);
  return user && user->role != session::Role::none && !is_over(*user, now);
}

const User* Users::numbered(std::uint64_t number) const {
  const auto at = std::ranges::lower_bound(users_, number, {}, &User::number);
  return at != users_.end() && at->number == number ? &*at : nullptr;
}

std::expected<Users::Change, UserFault> Users::to_create(const std::string& name, session::Role role,
                                                         std::uint64_t expires_s, Clock::time_point now) const {
  if (path_.empty()) return std::unexpected(UserFault{"no_users", "this server keeps no users"});
  if (std::string wrong = wrong_name(name); !wrong.empty())
    return std::unexpected(UserFault{"user_name", std::move(wrong)});
  // Lists written by earlier versions may contain such names.
  if (has_invisible(name) || has_blank_letters(name))
    return std::unexpected(UserFault{"user_name", "a user's name must not contain invisible characters"});
  const auto revoked = std::ranges::find(users_, session::Role::none, &User::role);
  if (users_.size() >= users_max && revoked == users_.end())
    return std::unexpected(
        UserFault{"users_max", "there are " + std::to_string(users_max) + " users, which is the limit"});
  for (const User& user : users_)
    if (user.role != session::Role::none && user.name == name)
      return std::unexpected(
          UserFault{"name_taken", "there is a user \"" + name + "\"; revoke that user's token first"});
  User user{.number = next_, .name = name, .role = role, .expires_s = expires_s};
  if (is_over(user, now)) return std::unexpected(UserFault{"expires_s", "the expiry time is in the past"});
  std::string token = draw_token();
  user.hash = hash_of_token(token);
  user.id = id_of_token(user.hash);
  std::vector<User> users = users_;
  if (users.size() >= users_max) users.erase(users.begin() + (revoked - users_.begin()));
  users.push_back(std::move(user));
  Change change = change_to(std::move(users), next_);
  change.token = std::move(token);
  return change;
}

std::expected<Users::Made, UserFault> Users::create(const std::string& name, session::Role role,
                                                    std::uint64_t expires_s, Clock::time_point now) {
  auto change = to_create(name, role, expires_s, now);
  if (!change) return std::unexpected(std::move(change.error()));
  if (auto written = write(*change); !written) return std::unexpected(std::move(written.error()));
  accept(*change);
  return Made{.user = change->user, .token = std::move(change->token)};
}

const User* Users::find(std::string_view name) const {
  const auto at = std::ranges::find_if(
      users_, [&](const User& user) { return user.role != session::Role::none && user.name == name; });
  return at == users_.end() ? nullptr : &*at;
}

std::expected<Users::Change, UserFault> Users::to_revoke(const std::string& name) const {
  const User* const user = find(name);
  if (!user) return std::unexpected(UserFault{"not_found", "there is no user \"" + name + "\""});
  std::vector<User> users = users_;
  users[static_cast<std::size_t>(user - users_.data())] = User{.number = user->number, .name = user->name};
  return change_to(std::move(users), user->number);
}

std::expected<Users::Change, UserFault> Users::to_rotate(const std::string& name) const {
  const User* const user = find(name);
  if (!user) return std::unexpected(UserFault{"not_found", "there is no user \"" + name + "\""});
  std::string token = draw_token();
  std::vector<User> users = users_;
  User& changed = users[static_cast<std::size_t>(user - users_.data())];
  changed.hash = hash_of_token(token);
  changed.id = id_of_token(changed.hash);
  Change change = change_to(std::move(users), user->number);
  change.token = std::move(token);
  return change;
}

std::expected<Users::Change, UserFault> Users::to_remove(const std::vector<std::uint64_t>& numbers) const {
  if (path_.empty()) return std::unexpected(UserFault{"no_users", "this server keeps no users"});
  std::vector<User> users = users_;
  std::erase_if(users, [&](const User& user) { return std::ranges::find(numbers, user.number) != numbers.end(); });
  return change_to(std::move(users), 0);
}

std::vector<User> Users::past_users(Clock::time_point now) const {
  std::vector<User> past;
  for (const User& user : users_)
    if (user.role == session::Role::none || is_over(user, now)) past.push_back(user);
  return past;
}

std::expected<std::uint64_t, UserFault> Users::revoke(const std::string& name) {
  const auto change = to_revoke(name);
  if (!change) return std::unexpected(change.error());
  if (auto written = write(*change); !written) return std::unexpected(std::move(written.error()));
  accept(*change);
  return change->user;
}

void Users::accept(const Change& change) {
  users_ = change.users;
  if (change.user == next_) ++next_;
}

Users::Change Users::change_to(std::vector<User> users, std::uint64_t user) const {
  const std::uint64_t next = user == next_ ? next_ + 1 : next_;
  std::string text = std::string(title) + "\nnext " + std::to_string(next);
  if (users.size() + 1 != next) text += " users " + std::to_string(users.size());
  text += "\n";
  if (!world_.empty()) text += "world " + world_ + "\n";
  for (const User& each : users) {
    const bool revoked = each.role == session::Role::none;
    text += std::to_string(each.number) + ' ' + (revoked ? "revoked" : std::string(right_name(each.role))) + ' ' +
            std::to_string(each.expires_s) + ' ' + (revoked ? "-" : hex(each.hash)) + ' ' + each.name + '\n';
  }
  return {.user = user, .users = std::move(users), .path = path_, .text = std::move(text)};
}

std::expected<void, UserFault> Users::write(const Change& change) {
  const std::string &path = change.path, &text = change.text;
  // Write the list to another file first, so that after a power failure the list is either
  // completely written or unchanged.
  const std::string beside = path + "-new";
  ::unlink(beside.c_str());
  const int file = open_file(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  bool good = file >= 0;
  for (std::size_t done = 0; good && done < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
    good = wrote > 0 || errno == EINTR;
  }
  good = good && ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  good = good && ::rename(beside.c_str(), path.c_str()) == 0;
  if (!good) {
    UserFault fault = not_written(path);
    ::unlink(beside.c_str());
    return std::unexpected(std::move(fault));
  }
  sync_folder_of(path);
  return {};
}

}  // namespace muster
