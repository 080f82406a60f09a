// Makes sure that each way in which the process of muster-server can end is either a save or named.
#pragma once

namespace muster {

/// Calls `stop` on the first SIGTERM, SIGINT or SIGHUP; `stop` must be safe in a signal handler. A
/// second such signal ends the process. If `hang_up` is not null, calls it on every SIGHUP instead.
/// Otherwise, a SIGHUP that is ignored (nohup) stays ignored.
void handle_signals(void (*stop)(int), void (*hang_up)(int) = nullptr);
/// Ignores SIGPIPE and SIGXFSZ, so that writes fail instead. On SIGBUS, names the signal on stderr
/// and lets it end the process. Must be called before a world is opened, whose own handler of
/// SIGBUS passes on the signals that do not concern it.
void handle_faults();
/// Restores the default action of the signals that call `stop`.
void restore_signals();

/// From now on, if code of a plugin or a library calls exit or quick_exit, names that on stderr and
/// ends the process with `code` instead, because a script would take code 0 for a save. Must be
/// called after the plugins have been loaded, so that it is called before their destructors.
void refuse_exit(int code);
/// From now on, exit works as usual.
void permit_exit();

}  // namespace muster
