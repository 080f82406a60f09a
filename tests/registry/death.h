// For tests of mistakes that stop the program: runs a piece of code in a child process and gives back what it said before
// it aborted. Single-threaded tests only.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace muster::test {

/// What `work` wrote to standard error before it aborted; "(it did not abort)" with the reason where it ended otherwise.
template <class Work>
std::string last_words(Work&& work) {
  int ends[2];
  if (pipe(ends) != 0) return "(no pipe)";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test framework's own handler would write a report
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    try {
      work();
    } catch (...) {
      _exit(2);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return said;
  return "(it did not abort) " + std::to_string(status) + ": " + said;
}

}  // namespace muster::test
