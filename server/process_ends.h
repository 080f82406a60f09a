// Makes sure that each way in which the process of muster-server can end is either a save or named.
#pragma once

namespace muster {

/// Calls `stop` on the first SIGTERM, SIGINT or SIGHUP; `stop` must be safe in a signal handler. A
/// second such signal ends the process. A SIGHUP that is ignored (nohup) stays ignored. If
/// `hangup_is_taken`, SIGHUP has another meaning and is left alone.
void handle_signals(void (*stop)(int), bool hangup_is_taken);
/// Ignores SIGPIPE and SIGXFSZ, so that writes fail instead. On SIGBUS, names the signal on stderr
/// and lets it end the process. Must be called before a world is opened, whose own handler of
/// SIGBUS passes on the signals that do not concern it.
void handle_faults();
/// Restores the default action of the signals that call `stop`. A SIGHUP that was left alone still
/// is.
void restore_signals();

/// From now on, if code of a plugin or a library calls exit, quick_exit, _exit or _Exit, names that
/// on stderr and ends the process with `code` instead, because a script would take code 0 for a
/// save. Child processes may call them. Must be
/// called after the plugins have been loaded, so that it is called before their destructors.
void refuse_exit(int code);
/// From now on, exit works as usual.
void permit_exit();
/// Ends the process at once, regardless of refuse_exit().
[[noreturn]] void end_process(int code);

}  // namespace muster
