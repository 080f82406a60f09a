#!/usr/bin/env python3
"""Tests of the model itself: cases from docs/undo.md, and its promises in random programs.

`run.py` needs no server. The last line is `N passed, N failed`."""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "support")]
from model import Model  # noqa: E402
from program import check_alone, check_invariants, program, read, written  # noqa: E402
from programs import Folder, equal, run_tests  # noqa: E402

PROGRAMS = 25


def played(text, model=None):
    """A model that has applied a program, and the answer to the last operation."""
    model, answer = model or Model(), None
    for operation in read(text):
        answer = model.apply(operation)
        assert not answer.get("refused"), (operation, answer)
    return model, answer


def undone_alone(text):
    """Applies one step of several batches, undoes it and redoes it, and compares the contents."""
    model, _ = played(text)
    *before, last = read(text)
    earlier = Model()
    for operation in before:
        earlier.apply(operation)
    after = model.content()
    model.apply(("anna", "undo", {}))
    equal(model.content(), earlier.content())
    model.apply(("anna", "redo", {}))
    equal(model.content(), after)


PAIR = """
anna create [{"target": "a1", "name": "camp"}]
anna create [{"target": "a2", "parent": "a1", "name": "orc", "rows": {"Body": {"health": 1}}}]
anna create [{"target": "a3", "parent": "a1", "name": "elf"}]
"""


def two_names_that_a_step_swaps_are_swapped_back(_folder):
    undone_alone(PAIR + """anna step {"batches": [["rename", [{"target": "a2", "name": "x"}]],
        ["rename", [{"target": "a3", "name": "orc"}]], ["rename", [{"target": "a2", "name": "elf"}]]]}""".replace("\n", ""))


def an_entity_that_a_step_moves_out_of_a_parent_and_into_one_of_its_former_children_moves_back(_folder):
    undone_alone(PAIR + """anna create [{"target": "a4", "parent": "a2"}]
anna step {"batches": [["reparent", [{"target": "a2"}]], ["reparent", [{"target": "a4", "parent": "a1"}]],
        ["reparent", [{"target": "a2", "parent": "a4"}]]]}""".replace(",\n", ","))


def an_entity_that_a_step_moves_into_a_parent_that_it_creates_is_not_lost(_folder):
    undone_alone(PAIR + """anna step {"batches": [["reparent", [{"target": "a2"}]], ["create", [{"target": "a4"}]],
        ["reparent", [{"target": "a2", "parent": "a4"}]]]}""".replace("\n", ""))


def an_entity_that_a_step_moves_twice_around_the_destruction_of_its_parent_moves_back(_folder):
    undone_alone(PAIR + """anna step {"batches": [["reparent", [{"target": "a2"}]], ["destroy", [{"target": "a1"}]],
        ["create", [{"target": "a4"}]], ["reparent", [{"target": "a2", "parent": "a4"}]]]}""".replace("\n", ""))


def a_property_written_before_and_after_its_component_was_removed_gets_its_first_value_back(_folder):
    undone_alone(PAIR + """anna step {"batches": [
["set_field", [{"target": "a2", "component": "Body", "field": "health", "value": 2}]],
["remove", [{"target": "a2", "component": "Body"}]], ["set", [{"target": "a2", "rows": {"Body": {"health": 2}}}]],
["set_field", [{"target": "a2", "component": "Body", "field": "health", "value": 1}]]]}""".replace("\n", ""))


def a_reference_to_an_entity_that_the_same_undo_revives_is_kept(_folder):
    undone_alone(PAIR + """anna set [{"target": "a2", "rows": {"Aim": {"target": "@a3"}}}]
anna step {"batches": [["destroy", [{"target": "a3"}]],
["set_field", [{"target": "a2", "component": "Aim", "field": "target", "value": null}]]]}""".replace(",\n", ","))


def a_value_that_another_user_wrote_later_is_kept_and_is_overwritten_if_asked(_folder):
    text = PAIR + """
anna set_field [{"target": "a2", "component": "Body", "field": "health", "value": 2}]
ben set_field [{"target": "a2", "component": "Body", "field": "health", "value": 3}]
"""
    model, answer = played(text + "anna undo {}")
    # The creation of a3 is undone instead.
    equal((answer["passed_over"], answer["done"], answer["skipped"]), (1, 1, []))
    model, answer = played(text + 'anna undo {"on_conflict": "overwrite"}')
    equal((answer["done"], model.world.entities["a2"].components["Body"]["health"]), (1, 1))
    model, answer = played("ben undo {}\nanna undo {}", played(text)[0])
    equal((answer["done"], model.world.entities["a2"].components["Body"]["health"]), (1, 1))


def an_entity_under_which_another_user_has_worked_is_not_destroyed_by_default(_folder):
    text = PAIR + 'ben create [{"target": "b1", "parent": "a3"}]\n'
    model, answer = played(text + "anna undo {}")
    equal((answer["passed_over"], sorted(model.world.entities)), (1, ["a1", "a3", "b1"]))
    model, answer = played(text + 'anna undo {"on_conflict": "overwrite"}')
    equal((answer["passed_over"], sorted(model.world.entities)), (0, ["a1", "a2"]))


def a_revived_entity_stands_where_it_stood_and_takes_another_name_if_its_own_is_taken(_folder):
    model, answer = played(PAIR + """
anna destroy [{"target": "a2"}]
ben create [{"target": "b1", "parent": "a1", "name": "orc"}]
anna undo {}
""")
    equal(model.world.entities["a1"].children, ["a2", "a3", "b1"])
    equal((model.world.entities["a2"].name, answer["other_names"]), ("orc~2", 1))


def an_entity_whose_parent_is_gone_is_revived_under_the_nearest_living_ancestor(_folder):
    model, answer = played(PAIR + """
anna create [{"target": "a4", "parent": "a2"}]
anna destroy [{"target": "a4"}]
ben destroy [{"target": "a2"}]
anna undo {}
""")
    equal((model.world.entities["a4"].parent, answer["other_parents"]), ("a1", 1))


def the_inputs_of_one_gesture_are_one_step_until_another_step_comes_between(_folder):
    drag = 'anna step {"gesture": 1, "batches": [["set_field", [{"target": "a2", "component": "Body", "field": "health", "value": %d}]]]}\n'
    model, _ = played(PAIR + drag % 2 + drag % 3)
    equal([len(each.parts) for each in model.histories[1].undo], [1, 1, 1, 1])
    model.apply(("anna", "undo", {}))
    equal(model.world.entities["a2"].components["Body"]["health"], 1)
    model, _ = played(PAIR + drag % 2 + 'anna2 rename [{"target": "a2", "name": "den"}]\n' + drag % 3)
    equal(len(model.histories[1].undo), 6)
    model, _ = played(PAIR + drag % 2 + "anna reconnect\n" + drag % 3)
    equal(len(model.histories[1].undo), 5)
    model, _ = played(PAIR + drag % 2 + drag % 1)
    equal(len(model.histories[1].undo), 3)


def undos_and_as_many_redos_restore_the_state_with_the_edits_of_others(_folder):
    checks = sum(check_invariants(seed, 60)[0] for seed in range(PROGRAMS))
    assert checks > PROGRAMS, checks


def one_who_undoes_everything_alone_gets_the_state_from_before(_folder):
    for seed in range(PROGRAMS):
        check_alone(seed, 40)


def a_program_is_read_as_it_was_written(_folder):
    operations = program(3, 100, 0.1)
    equal(read("\n".join(map(written, operations))), operations)


TESTS = [two_names_that_a_step_swaps_are_swapped_back,
         an_entity_that_a_step_moves_out_of_a_parent_and_into_one_of_its_former_children_moves_back,
         an_entity_that_a_step_moves_into_a_parent_that_it_creates_is_not_lost,
         an_entity_that_a_step_moves_twice_around_the_destruction_of_its_parent_moves_back,
         a_property_written_before_and_after_its_component_was_removed_gets_its_first_value_back,
         a_reference_to_an_entity_that_the_same_undo_revives_is_kept,
         a_value_that_another_user_wrote_later_is_kept_and_is_overwritten_if_asked,
         an_entity_under_which_another_user_has_worked_is_not_destroyed_by_default,
         a_revived_entity_stands_where_it_stood_and_takes_another_name_if_its_own_is_taken,
         an_entity_whose_parent_is_gone_is_revived_under_the_nearest_living_ancestor,
         the_inputs_of_one_gesture_are_one_step_until_another_step_comes_between,
         undos_and_as_many_redos_restore_the_state_with_the_edits_of_others,
         one_who_undoes_everything_alone_gets_the_state_from_before,
         a_program_is_read_as_it_was_written]


if __name__ == "__main__":
    sys.exit(run_tests(TESTS, lambda path: Folder(path, "", "")))
