"""Continues a session on another connection, after the first one was lost (docs/protocol.md)."""
from .errors import Late, Lost

SESSION = "muster.session."
#: Pauses before an attempt to connect again.
FIRST_PAUSE_S, PAUSE_MAX_S = 0.01, 1.0
#: Codes of faults after which the session can be resumed.
RESUMABLE = ("silent", "slow_reader", "stalled", "stopping")
_CHANGES = ("Follow", "FollowMore", "Unwatch")
#: Other questions that do no harm if they arrive twice. The server applies an EditIf once.
_ONCE = (SESSION + "RequestGrant", SESSION + "EditIf", SESSION + "DryRun")
#: Questions after which the server sends answers without further questions, by the answer's name.
_FOLLOWING = {"Durable": ("FollowDurable", {}), "ClockState": ("GetClock", {"follow": 1})}


class NotResumed(Lost):
    """The server does not resume the session, so another attempt is useless."""


class Sent:
    """A request without an answer."""

    __slots__ = ("batch", "type", "change", "is_unsent")

    def __init__(self, batch, type_, change, is_unsent):
        self.batch, self.type, self.change, self.is_unsent = batch, type_, change, is_unsent

    @property
    def may_be_sent_again(self):
        """The server applies an edit once, and a question that only reads may be answered twice."""
        return self.is_unsent or not self.type.name.startswith(SESSION) or self.type.right == "view" \
            or self.type.name in _ONCE


class KeptWatch:
    """The scope of a watch after all changes, and the sequence of its last complete state."""

    def __init__(self, fields):
        self.fields, self.sequence = dict(fields), 0

    def note(self, frame, words):
        if not frame.more and not frame.is_event and frame.sequence:
            self.sequence = frame.sequence
        elif frame.batch.type.name in (SESSION + "Watching", SESSION + "Resuming"):
            begun = frame.batch.message(0, words)
            if not frame.more:
                self.sequence = begun.sequence
            elif getattr(begun, "anew", 0):
                self.sequence = 0  # the earlier state is no longer known


def is_change(name):
    """Returns True if a message changes or closes a watch."""
    return name.startswith(SESSION) and name[len(SESSION):] in _CHANGES


def go_on(core, epoch, lineage):
    """Sends what the earlier connection may have lost, in the order of docs/protocol.md."""
    is_other_epoch = core.epoch != epoch
    if core._credit_through:
        core._give_credit()
    if is_other_epoch:
        # The server was started again, or a run has begun or ended.
        core.grants = []
        for text in core.registered:
            core._put(core.intern(text), 0)
        if core.lineage != lineage:
            core.told, core.registered = set(), set()
            core.run_epochs = set()
        core.run_epochs.add(core.epoch)
    unanswered = list(core.unanswered.items())
    changing = {sent.change for _, sent in unanswered if sent.change and sent.type.name != SESSION + "Unwatch"}
    closing = {sent.change for _, sent in unanswered if sent.change and sent.type.name == SESSION + "Unwatch"}
    watches = {number: watch for number, watch in core.watches.items() if number not in closing}
    if watches or closing:
        core.ask_now(core.control(
            "ResumeWatches", watches=list(watches),
            sequences=[0 if number in changing else watch.sequence for number, watch in watches.items()],
            follows=[watch.fields for watch in watches.values()]), lambda answer: _watches_resumed(core, answer, unanswered))
    for request, sent in unanswered:
        if sent.change:
            continue
        if sent.may_be_sent_again:
            sent.is_unsent = False
            core._put(sent.batch, request)
        else:
            core.answer(request, Late("the connection was lost before the answer came, and the request may have been "
                                      "carried out"))
    held, core.held_posts = core.held_posts, []
    for batch in held:
        core._put(batch, 0)
    if is_other_epoch:
        core.earlier_epochs.clear()
        core._put(core.control("EnterEpoch", epoch=core.epoch), 0)
    for name, (question, fields) in _FOLLOWING.items():
        if core.followed(name) is not None:
            core.ask_now(core.control(question, **fields), lambda answer, name=name: core.tell(name, answer))
    if core.presence is not None:
        core.ask_now(core.control("SetPresence", **core.presence), lambda answer: None)
    core.resumed += 1
    for name in ("NewEpoch", "Presence"):
        stream = core.followed(name)
        if stream is not None:
            stream._tell()


def _watches_resumed(core, answer, unanswered):
    """Ends the watches that the server could not continue, and answers their changes."""
    if isinstance(answer, Exception):
        if core.line == "up":
            for number in list(core.watches):
                core.end_stream(number, answer)
        return
    resumed = answer[0].batch.message(0, core.words)
    refused = {number: Lost(text, "refused", reason)
               for number, reason, text in zip(resumed.refused, resumed.reasons, resumed.texts)}
    for number, error in refused.items():
        core.end_stream(number, error)
    for request, sent in unanswered:
        if not sent.change or core.unanswered.pop(request, None) is None:
            continue
        if sent.change in refused:
            core.answer(request, refused[sent.change])
            core.end_stream(request, refused[sent.change])
        else:
            core.answer(request, answer)  # a caller needs only to know that the change is done
            stream = core.stream_of(request)
            if stream is not None:
                stream.put(answer[0])
