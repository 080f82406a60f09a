"""Tools for time: the clock, and runs, in which an agent can propose edits."""
from ..errors import Mistaken, Refused
from .answers import cut, offset_of, page, text_of
from .tool import COUNT, CURSOR, YES_NO, tool


@tool("control", set={"type": "string", "enum": ["pause", "resume", "step"]}, ticks=COUNT,
      speed={"type": "number", "description": "With resume: from 0.01 to 100"})
def clock(agent, set=None, ticks=None, speed=None):
    """Pauses or resumes the world's clock, or makes some ticks of a paused clock. Without `set`,
    only shows it."""
    world = agent.world
    if ticks is not None and set != "step" or speed is not None and set != "resume":
        raise Mistaken("ticks is for set step, and speed for set resume")
    if set == "step":
        try:
            state = world.step(ticks or 1)
        except Refused as error:
            hint = "" if world.clock().paused else "; set pause first"
            raise Refused(f"{error}{hint}", error.code, error.reason) from None
    elif set == "resume":
        state = world.resume(speed or 0)
    else:
        state = world.pause() if set == "pause" else world.clock()
    return text_of({"sequence": state.sequence, **agent.clock_text(state)})


@tool("control", paused={**YES_NO, "description": "Pause the clock at once; otherwise it runs, even if it was paused"})
def play(agent, paused=False):
    """Begins a run: play on a copy of the level, which stop ends. To propose edits, make them in a
    run: people see them as a list, and those that are kept become one step of the level."""
    agent.world.play()
    state = agent.world.pause() if paused else agent.world.clock()
    return text_of({"sequence": agent.world.sequence, "playing": True, "tick": state.tick, "paused": bool(state.paused),
                    "hint": f"The clock {'is paused' if state.paused else 'runs'}. Edits are of the run until run_edits keeps "
                            "them. stop ends the run."})


@tool("control")
def stop(agent):
    """Ends the run. The world is the level again, with the edits that were kept. Says which edits
    were chosen, and why some of them could not be kept."""
    world = agent.world
    edits = world.run_edits() if world.playing else []
    state = world.stop()
    answer = {**agent.now(), "playing": False, "kept": state.kept, **_some("not_kept", state.not_kept)}
    chosen = [{"step": each.step, "what": cut(each.what, 200)} for each in edits if each.is_marked]
    if state.kept and not state.not_kept:
        agent.kept.update(each.step for each in edits if each.is_marked)
    if chosen:
        answer["chosen"] = chosen[:SHOWN_MAX]
    if len(chosen) > SHOWN_MAX:
        answer["chosen_count"] = len(chosen)
    hints = [NOT_KEPT if state.kept else NOTHING_KEPT] if state.not_kept else []
    if state.nil_references:
        hints.append(f"{state.nil_references} references are nil now, because their entities were not kept.")
    if edits and not chosen:
        hints.append("No edit of the run was chosen. run_edits still lists them, and keeps some.")
    return text_of({**answer, "hint": " ".join(hints)} if hints else answer)


#: So many edits of a run are named in an answer.
SHOWN_MAX = 20
#: What an agent can do about edits that the level has refused.
NOT_KEPT = "not_kept says what was left out. Look at the level, and edit it directly."
NOTHING_KEPT = "If the level refuses one edit, none is kept. Choose others with run_edits, or edit the level directly."


def _some(name, reasons):
    """Returns the first of the reasons why edits were not kept, and how many there are."""
    some = {name: [cut(each, 300) for each in reasons[:SHOWN_MAX]]}
    return {**some, name + "_count": len(reasons)} if len(reasons) > SHOWN_MAX else some


@tool("edit", keep={"type": "array", "items": COUNT, "description": "Numbers of steps to keep"}, keep_all=YES_NO, cursor=CURSOR)
def run_edits(agent, keep=None, keep_all=False, cursor=None):
    """Lists the edits of the run, or of the last one, the newest first. With keep or keep_all,
    keeps some: they are applied to the level, as one step, when the run ends, or at once if it has
    ended. After a run, kept is true for those of which you know that they were kept."""
    world, offset, head, hint = agent.world, offset_of(cursor), {}, ""
    if keep or keep_all:
        kept = world.keep(*(keep or ()), all=keep_all)
        head["kept"] = "when the run ends" if kept.marked else kept.messages
        if kept.skipped:
            head.update(_some("skipped", kept.skipped))
            head["why"] = "skipped says what was left out. Look at the level, and edit it directly."
    found = world.run_edits()
    if not world.playing:
        if (keep or keep_all) and not kept.skipped:
            agent.kept.update(keep or (each.step for each in found))
        hint = "The run has ended. No edit is kept twice." if found else ""
    rows = (_run_edit(agent, each) for each in found[offset:])
    return page({"sequence": world.sequence, **head}, "edits", rows, len(found), offset, hint)


def _run_edit(agent, edit):
    """Returns a row. The server does not tell after a run what was kept."""
    row = {"step": edit.step, "user": edit.user, "what": edit.what}
    if agent.world.playing:
        return {**row, "kept": edit.is_marked}
    return {**row, "kept": True} if edit.step in agent.kept else row
