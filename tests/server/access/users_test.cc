// Users with tokens of their own: what the list keeps, what becomes of it on the disk, and what sessions see of it.
#include "server/access/users.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "registry/host.h"
#include "tests/server/live_world.h"
#include "tests/support/folder.h"

using namespace muster;
using namespace muster::testing;

namespace {

const Users::Clock::time_point noon{std::chrono::seconds(1'800'000'000)};
Users::Clock::time_point at(std::uint64_t seconds) {
  return Users::Clock::time_point(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
}

std::string reason(const std::expected<Users::Made, UserFault>& made) { return made ? "" : made.error().reason; }

}  // namespace

TEST_CASE("tokens are compared to the last byte, and empty ones never fit", "[users]") {
  const Users users({{"alpha", session::Role::view}, {"beta", session::Role::admin}, {"", session::Role::admin}}, "");
  const auto role = [&](std::string_view offered) { return users.admit(offered, noon).rights.role; };
  REQUIRE(role("alpha") == session::Role::view);
  REQUIRE(role("beta") == session::Role::admin);
  for (const char* wrong : {"alphA", "Alpha", "alph", "alphaalpha", "alpha ", ""})
    REQUIRE(role(wrong) == session::Role::none);
}

TEST_CASE("a user has the role and the number it was given, also after a restart, until it is revoked", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users::Made ann, build;
  {
    Users users({{"the server's", session::Role::admin}}, path);
    REQUIRE(users.all().empty());
    REQUIRE_FALSE(std::filesystem::exists(path));
    ann = users.create("ann", session::Role::edit, 0, noon).value();
    build = users.create("the build", session::Role::view, 0, noon).value();
  }
  REQUIRE(ann.user == 1);
  REQUIRE(build.user == 2);
  REQUIRE(ann.token.size() == 32);
  REQUIRE(ann.token != build.token);
  Users users({{"the server's", session::Role::admin}}, path);
  const Admitted as_ann = users.admit(ann.token, noon), as_build = users.admit(build.token, noon);
  REQUIRE((as_ann.user == 1 && as_ann.rights.role == session::Role::edit && as_ann.name == "ann"));
  REQUIRE((as_build.user == 2 && as_build.rights.role == session::Role::view && as_build.name == "the build"));
  REQUIRE((users.admit("the server's", noon).rights.role == session::Role::admin &&
           users.admit("the server's", noon).user == 0));
  REQUIRE(users.may_stay(as_ann, noon));

  REQUIRE(users.revoke("ann").value() == 1);
  REQUIRE_FALSE(users.may_stay(as_ann, noon));
  REQUIRE(users.may_stay(as_build, noon));
  REQUIRE(users.admit(ann.token, noon).rights.role == session::Role::none);
  const Users again({}, path);
  REQUIRE(again.admit(ann.token, noon).rights.role == session::Role::none);
  REQUIRE(again.admit(build.token, noon).user == 2);
  REQUIRE(again.all().size() == 2);
}

TEST_CASE("a user whose token is exchanged stays the same, and the old token ends", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users users({}, path);
  const auto ann = users.create("ann", session::Role::edit, 1'900'000'000, noon).value();
  const auto bob = users.create("bob", session::Role::view, 0, noon).value();
  const auto change = users.to_rotate("ann").value();
  CHECK(users.admit(ann.token, noon).user == 1);  // until the change is made
  REQUIRE(Users::write(change));
  users.accept(change);
  CHECK(change.token.size() == 32);
  CHECK(change.token != ann.token);
  const Users again({}, path);
  for (const Users* const each : {static_cast<const Users*>(&users), &again}) {
    CHECK_FALSE(each->admit(ann.token, noon).rights.any());
    CHECK(each->admit(change.token, noon).user == 1);
    CHECK(each->admit(change.token, noon).rights.role == session::Role::edit);
    CHECK_FALSE(each->admit(change.token, at(1'900'000'000)).rights.any());
    CHECK(each->admit(bob.token, noon).user == 2);
  }
  REQUIRE(users.revoke("bob"));
  CHECK(std::string(users.to_rotate("bob").error().reason) == "not_found");
}

TEST_CASE("users who were revoked or have expired can be removed, and their numbers are not used again", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users users({}, path);
  for (const char* name : {"ann", "bob", "guest"})
    REQUIRE(users.create(name, session::Role::view, name[0] == 'g' ? 1'800'000'060 : 0, noon));
  REQUIRE(users.revoke("ann"));
  CHECK(users.past_users(noon).size() == 1);
  const auto past = users.past_users(at(1'800'000'060));
  REQUIRE(past.size() == 2);
  CHECK((past[0].number == 1 && past[1].number == 3));
  const auto change = users.to_remove({1, 3}).value();
  REQUIRE(Users::write(change));
  users.accept(change);
  Users again({}, path);
  for (Users* const each : {&users, &again}) {
    REQUIRE(each->all().size() == 1);
    CHECK(each->all()[0].name == "bob");
  }
  CHECK(again.create("ann", session::Role::view, 0, noon).value().user == 4);
  CHECK(std::string(Users({}, "").to_remove({1}).error().reason) == "no_users");
}

TEST_CASE("a user's number is never given to another", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  std::set<std::uint64_t> numbers;
  for (int start = 0; start < 3; ++start) {
    Users users({}, path);
    for (int i = 0; i < 3; ++i) {
      const auto made = users.create("ann", session::Role::edit, 0, noon).value();
      REQUIRE(numbers.insert(made.user).second);
      REQUIRE(users.revoke("ann").value() == made.user);
    }
  }
  REQUIRE(*numbers.rbegin() == 9);
}

TEST_CASE("a token holds until its second, and no longer", "[users]") {
  const test::Folder folder;
  Users users({}, folder / "w.muster-users");
  const auto made = users.create("guest", session::Role::view, 1'800'000'060, noon).value();
  const Admitted guest = users.admit(made.token, at(1'800'000'059));
  REQUIRE(guest.rights.role == session::Role::view);
  REQUIRE(users.may_stay(guest, at(1'800'000'059)));
  REQUIRE_FALSE(users.may_stay(guest, at(1'800'000'060)));
  REQUIRE(users.admit(made.token, at(1'800'000'060)).rights.role == session::Role::none);
  REQUIRE(reason(users.create("late", session::Role::view, 1'800'000'000, noon)) == "expires_s");
  REQUIRE(users.all().size() == 1);
}

TEST_CASE("names that are none, taken or unknown are refused, and nothing is written", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users users({}, path);
  for (const std::string& name : {std::string(), std::string(65, 'a'), std::string("a\nb"), std::string("a\x7f"),
                                  std::string("\xff"), std::string(" a"), std::string("a "), std::string("a\0b", 3)})
    REQUIRE(reason(users.create(name, session::Role::view, 0, noon)) == "user_name");
  REQUIRE_FALSE(std::filesystem::exists(path));
  REQUIRE(users.create(std::string(64, 'a'), session::Role::view, 0, noon));
  REQUIRE(reason(users.create(std::string(64, 'a'), session::Role::edit, 0, noon)) == "name_taken");
  REQUIRE(std::string(users.revoke("nobody").error().reason) == "not_found");
  REQUIRE(users.all().size() == 1);
  REQUIRE(reason(Users({}, "").create("ann", session::Role::view, 0, noon)) == "no_users");
}

TEST_CASE("the list holds no token, and only its owner can read it", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users users({{"the server's own token", session::Role::admin}}, path);
  const auto made = users.create("ann", session::Role::edit, 0, noon).value();
  const std::string text = test::read_file(path);
  REQUIRE(text.find(made.token) == std::string::npos);
  REQUIRE(text.find("the server's own token") == std::string::npos);
  struct stat file{};
  REQUIRE(::stat(path.c_str(), &file) == 0);
  REQUIRE((file.st_mode & 0777) == 0600);
}

TEST_CASE("the list's bytes are those that are drawn", "[users]") {
  const test::Folder folder;
  // SHA-256 of "abc", as FIPS 180-2 gives it.
  const std::string hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const std::string path =
      folder.write("w.muster-users", "muster-users 1\nnext 4\n1 control 0 " + hash +
                                         " ann of the  north\n2 revoked 0 - bob\n3 view 1800000060 " +
                                         std::string(64, '0') + " guest\n");
  Users users({}, path);
  const Admitted ann = users.admit("abc", noon);
  REQUIRE((ann.user == 1 && ann.rights.role == session::Role::control && ann.name == "ann of the  north"));
  REQUIRE(users.revoke("guest").value() == 3);
  REQUIRE(test::read_file(path) == "muster-users 1\nnext 4\n1 control 0 " + hash +
                                       " ann of the  north\n2 revoked 0 - bob\n3 revoked 0 - guest\n");
}

TEST_CASE("a list that is cut off, or no list, lets nobody in: the server does not begin", "[users]") {
  const test::Folder folder;
  const std::string hash(64, 'a');
  const std::string first = "muster-users 1\n", next = "next 3\n", ann = "1 edit 0 " + hash + " ann\n",
                    bob = "2 view 0 " + hash + " bob\n";
  const auto error = [&](const std::string& text) {
    const std::string path = folder.write("w.muster-users", text);
    try {
      const Users users({}, path);
      return std::string();
    } catch (const ServerError& refused) {
      return std::string(refused.what()).substr(path.size());
    }
  };
  REQUIRE(error(first + next + ann + bob).empty());
  REQUIRE(error(first + next + ann).find("it has 1 users") != std::string::npos);
  REQUIRE(error(first + next + bob).find("line 3: users' numbers must be 1, 2, 3") != std::string::npos);
  REQUIRE(error("muster-users 2\n" + next + ann + bob).find("line 1: ") != std::string::npos);
  for (const char* second : {"next\n", "next 0\n", "next -1\n", "next 3x\n", "1 edit\n"})
    REQUIRE(error(first + second + ann + bob).find("line 2: \"next NUMBER\"") != std::string::npos);
  for (const std::string& wrong :
       {std::string("\n"), "x edit 0 " + hash + " ann\n", "1 none 0 " + hash + " ann\n", "1 king 0 " + hash + " ann\n",
        "1 edit - " + hash + " ann\n", "1 edit 0 " + hash.substr(1) + " ann\n",
        "1 edit 0 g" + hash.substr(1) + " ann\n", "1 edit 0 " + hash + "\n", "1 edit 0 " + hash + " \n",
        "1 revoked 0 " + hash + " ann\n"})
    REQUIRE(error(first + next + wrong + bob).find("line 3: \"NUMBER ROLE") != std::string::npos);
  // Whatever is cut off: all of it is there, or it is refused.
  const std::string whole = first + next + ann + bob;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) REQUIRE_FALSE(error(whole.substr(0, bytes)).empty());
}

TEST_CASE("a full list forgets the revoked user with the lowest number, and no number is used again", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  std::string text = "muster-users 1\nnext " + std::to_string(Users::users_max + 1) + "\n";
  for (std::size_t i = 1; i <= Users::users_max; ++i)
    text += std::to_string(i) + (i == 7 || i == 9 ? " revoked 0 - old" : " view 0 " + std::string(64, 'a') + " u") +
            std::to_string(i) + "\n";
  folder.write("w.muster-users", text);
  std::string ann, bob;
  {
    Users users({}, path);
    ann = users.create("ann", session::Role::edit, 0, noon)->token;
    bob = users.create("bob", session::Role::edit, 0, noon)->token;
    REQUIRE(reason(users.create("carl", session::Role::edit, 0, noon)) == "users_max");
    REQUIRE(users.revoke("u3").value() == 3);
  }
  REQUIRE(test::read_file(path).starts_with("muster-users 1\nnext 10003 users 10000\n1 view"));
  Users users({}, path);
  REQUIRE(users.all().size() == Users::users_max);
  REQUIRE(users.admit(ann, noon).user == 10'001);
  REQUIRE(users.may_stay(users.admit(bob, noon), noon));
  REQUIRE_FALSE(users.may_stay({.rights = {session::Role::edit}, .user = 7}, noon));
  REQUIRE(users.revoke("bob").value() == 10'002);
  REQUIRE(users.create("carl", session::Role::edit, 0, noon)->user == 10'003);
  REQUIRE_FALSE(users.find("bob"));
  const std::string whole = test::read_file(path);
  for (const std::string& wrong : {whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1),
                                   whole + "10003 revoked 0 - x\n", whole + "10004 revoked 0 - x\n"}) {
    folder.write("w.muster-users", wrong);
    REQUIRE_THROWS_AS(Users({}, path), ServerError);
  }
}

TEST_CASE("a list that cannot be written changes nobody's rights", "[users]") {
  const test::Folder folder;
  const std::string path = folder / "w.muster-users";
  Users users({}, path);
  const auto ann = users.create("ann", session::Role::edit, 0, noon).value();
  const std::string before = test::read_file(path);
  std::filesystem::create_directory(path + "-new");
  folder.write("w.muster-users-new/in_the_way", "");
  REQUIRE(reason(users.create("bob", session::Role::view, 0, noon)) == "users_file");
  REQUIRE(std::string(users.revoke("ann").error().reason) == "users_file");
  REQUIRE(users.admit(ann.token, noon).rights.role == session::Role::edit);
  REQUIRE(users.all().size() == 1);
  REQUIRE(test::read_file(path) == before);
}

TEST_CASE("what sessions do over the wire is told with their user, the owner's token is nobody's", "[users]") {
  struct Told final : InputSink {
    void on_input(const Envelope& envelope, std::span<const std::byte> batch) override {
      if (!batch.empty() && envelope.session != 0) told.push_back({envelope.session, envelope.user});
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  } sink;
  const test::Folder folder;
  LiveWorld world({.users_file = folder / "w.muster-users"});
  Client owner = world.client();
  session::CreateToken what;
  what.role = static_cast<std::uint8_t>(session::Role::edit);
  std::vector<std::string> tokens;
  for (const char* name : {"ann", "bob"}) {
    what.name = name;
    tokens.push_back(owner.ask(what).value().token);
  }
  world.run([&](EntityRegistry& r) {
    r.host().add_sink(sink);
    return 0;
  });
  Client page = world.client(tokens[0]), cli = world.client(tokens[0]), bob = world.client(tokens[1]);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  const auto edits = [&](Client& by, std::uint64_t user) {
    const Entity made = by.create({}, "").value();
    REQUIRE(by.destroy(made));
    for (int i = 0; i < 2; ++i) expected.emplace_back(by.welcome().session, user);
  };
  edits(page, 1);
  edits(bob, 2);
  edits(cli, 1);
  edits(owner, 0);
  world.run([&](EntityRegistry& r) {
    r.host().remove_sink(sink);
    return 0;
  });
  REQUIRE(sink.told == expected);
}

TEST_CASE("an admin lets a user in and out again over the wire; the user's session ends with its token", "[users]") {
  const test::Folder folder;
  LiveWorld world({.users_file = folder / "w.muster-users"});
  Client admin = world.client();
  session::CreateToken what;
  what.name = "ann";
  what.role = static_cast<std::uint8_t>(session::Role::edit);
  const auto made = admin.ask(what).value();
  REQUIRE(made.user == 1);

  Client ann = world.client(made.token);
  REQUIRE(ann.welcome().role == session::Role::edit);
  REQUIRE(ann.create({}, "house"));
  REQUIRE(ann.ask(what).error().fault.code == session::FaultCode::no_right);
  REQUIRE(ann.ask(session::ListTokens{}).error().fault.code == session::FaultCode::no_right);
  REQUIRE(admin.ask(what).error().fault.reason == "name_taken");

  const auto all = admin.ask(session::ListTokens{}).value();
  REQUIRE(all.users == std::vector<std::uint64_t>{1});
  REQUIRE(all.names == std::vector<std::string>{"ann"});
  REQUIRE(all.roles == std::vector<std::uint8_t>{2});

  session::RevokeToken revoke;
  revoke.name = "ann";
  REQUIRE(admin.ask(revoke).value().user == 1);
  REQUIRE(admin.ask(revoke).error().fault.code == session::FaultCode::not_found);
  // It is told why, at the latest when the door looks at all sessions next.
  Result<std::optional<Received>> heard;
  do heard = ann.next(0, std::chrono::seconds(5));
  while (heard && *heard);
  REQUIRE_FALSE(heard);
  REQUIRE(heard.error().fault.reason == "token_ended");
  REQUIRE_FALSE(Client::connect(world.client_options(made.token)));
  REQUIRE(admin.ask<session::GetInfo>());
}
