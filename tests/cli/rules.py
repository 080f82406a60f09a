"""Rules of the configuration file: what users may write beyond their roles, and how fast."""
import contextlib
import json
import signal
import sys
import time

from operating import checked, lines, metric, served, wait_for, written
from shared import GAME, MUSTER, REFUSED, ROOT, SERVER, UNREACHABLE, USAGE, equal, holds

sys.path.insert(0, str(ROOT / "client/python"))
import muster  # noqa: E402


@contextlib.contextmanager
def ruled(folder, rules, *users):
    """A served town with users, whose rules are then read; the tokens by name."""
    folder.run("new", "game.muster", "--schema", GAME)
    server = served(folder, 'audit-log = "audit"\nlog-file = "log"\n')
    tokens = {name: folder.run("token", "create", name, "--role", role).split()[-1] for name, role in users}
    for path in ("/town", "/town/gate", "/secret", "/secret/vault"):
        folder.run("spawn", path, "Health.value=80")
    change(folder, server, rules)
    yield server, tokens
    server.send_signal(signal.SIGTERM)
    equal(server.wait(timeout=20), 0)


def base(in_folder):
    text = (in_folder.path / "town.toml").read_text()
    return text.split("[[rule]]", maxsplit=1)[0].split("[limits]", maxsplit=1)[0]


def change(folder, server, rules):
    """Writes the rules, has them read, and waits until that is done."""
    before = len([line for line in lines(folder, "audit") if line["event"] == "reload"])
    written(folder, base(folder) + rules)
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: len([line for line in lines(folder, "audit") if line["event"] == "reload"]) > before, "no reload")
    reload = [line for line in lines(folder, "audit") if line["event"] == "reload"][-1]
    assert "why" not in reload, reload
    folder.run("info")  # a flush has passed


def state_of(served_folder):
    """The tree and all values in it. A hash also depends on ids granted to a refused command."""
    tree = served_folder.json("tree")
    entities = []

    def collect(nodes):
        for node in nodes:
            entities.append(served_folder.json("show", node["id"])["components"])
            collect(node.get("children", []))

    collect(tree if isinstance(tree, list) else tree.get("children", []))
    return tree, entities


def denied(folder, token, *command):
    """A command is refused by a rule, leaves the world as it was, and is in the audit log."""
    before = state_of(folder)
    count = len([line for line in lines(folder, "audit") if line.get("refused") == "rule"])
    said = folder.error(REFUSED, *command, "--token", token)
    holds(said, "rule")
    equal(state_of(folder), before)
    wait_for(lambda: len([line for line in lines(folder, "audit") if line.get("refused") == "rule"]) > count, "not logged")


def a_rule_denies_types_and_another_one_grants_them_to_a_user(folder):
    rules = """
[[rule]]
roles = ["edit"]
deny = ["game.Damage", "game.Health", "muster.Destroy"]

[[rule]]
users = "bob"
allow = ["game.Health", "muster.session.Save"]
"""
    with ruled(folder, rules, ("anna", "edit"), ("bob", "edit"), ("carl", "control")) as (_, tokens):
        anna, bob = tokens["anna"], tokens["bob"]
        for command in (["set", "gate", "Health.value", "3"], ["remove", "gate", "Health"], ["push", "gate", "Damage"],
                        ["spawn", "/orc", "Health.value=3"], ["destroy", "gate"]):
            denied(folder, anna, *command)
        folder.run("rename", "gate", "door", "--token", anna)
        folder.run("set", "door", "Health.value", "3", "--token", bob)
        denied(folder, bob, "push", "door", "Damage")
        folder.run("save", "--token", bob)
        holds(folder.error(REFUSED, "save", "--token", anna), "needs the right to control")
        folder.run("destroy", "door", "--token", tokens["carl"])
        folder.run("destroy", "vault")  # the server's own token


def a_rule_denies_places_and_no_detour_leads_there(folder):
    with ruled(folder, '[[rule]]\nusers = ["anna"]\ndeny = "/secret/vault"\n', ("anna", "edit")) as (server, tokens):
        anna = tokens["anna"]
        for command in (["set", "vault", "Health.value", "3"], ["add", "vault", "Unit"], ["push", "vault", "Damage"],
                        ["rename", "vault", "x"], ["destroy", "vault"], ["reparent", "vault", "/"], ["spawn", "/secret/vault/x"],
                        ["reparent", "gate", "vault"], ["rename", "secret", "x"], ["destroy", "secret"],
                        ["reparent", "secret", "town"], ["push", "secret", "Damage", "--below"]):
            denied(folder, anna, *command)
        folder.run("set", "secret", "Health.value", "3", "--token", anna)
        folder.run("push", "town", "Damage", "--below", "--token", anna)
        folder.run("reparent", "gate", "secret", "--token", anna)
        folder.run("reparent", "vault", "town")  # out of the place that the rule names
        folder.run("set", "vault", "Health.value", "3", "--token", anna)
        change(folder, server, '[[rule]]\nroles = ["edit"]\ndeny = "/"\nallow = "/town"\n')
        folder.run("spawn", "/town/tower", "--token", anna)
        for command in (["spawn", "/orc"], ["reparent", "tower", "/"], ["set", "secret", "Health.value", "3"],
                        ["rename", "town", "x"], ["destroy", "town"], ["reparent", "gate", "town"]):
            denied(folder, anna, *command)
        folder.run("destroy", "tower", "--token", anna)


def rules_that_change_hold_at_once_for_sessions_that_are_there(folder):
    with ruled(folder, "", ("anna", "edit")) as (server, tokens):
        watch = folder.start(*watching(tokens["anna"]))
        wait_for(lambda: len(folder.json("who")) == 2, "no session")
        folder.run("set", "gate", "Health.value", "3", "--token", tokens["anna"])
        change(folder, server, '[[rule]]\ndeny = ["*"]\n')
        denied(folder, tokens["anna"], "set", "gate", "Health.value", "4")
        change(folder, server, "")
        folder.run("set", "gate", "Health.value", "4", "--token", tokens["anna"])
        equal(watch.poll(), None)
        watch.terminate()


def rules_that_change_within_a_transaction_refuse_it_as_a_whole(folder):
    with ruled(folder, "", ("anna", "edit")) as (server, tokens):
        address = json.loads((folder.path / "game.muster-server.json").read_text())["address"]
        before = state_of(folder)
        with muster.connect(address, token=tokens["anna"]) as world:
            edits = world.transaction("two values")
            edits.set_field("/town/gate", "Health.value", 3)
            edits.set_field("/secret/vault", "Health.value", 4)
            change(folder, server, '[[rule]]\ndeny = "/secret"\n')
            try:
                edits.commit()
                assert False, "not refused"
            except muster.Refused as refused:
                equal((refused.code, refused.reason), ("no_right", "rule"))
            equal(state_of(folder), before)
            world.set_field("/town/gate", "Health.value", 3)  # the session goes on
        wait_for(lambda: any(line.get("refused") == "rule" and line.get("name") == "anna" for line in lines(folder, "audit")),
                 "not logged")


def watching(token):
    return [MUSTER, "watch", "--token", token]


def rules_that_are_wrong_name_the_line_and_change_nothing(folder):
    for text, *parts in (
            ("[[rule]]\nusers = [\"anna\"]\n", "town.toml:1:", "the rule has none of deny, allow, hide and show"),
            ("[[rule]]\ndenny = [\"x\"]\n", 'town.toml:2:1: a rule has no key denny; did you mean "deny"?'),
            ("[[rule]]\nroles = [\"owner\"]\ndeny = \"x\"\n", "town.toml:2:10: there is no role owner"),
            ("[[rule]]\ndeny = [3]\n", "town.toml:2:9: deny takes texts"),
            ("[[rule]]\ndeny = []\n", "town.toml:2:1: deny is empty"),
            ("[[rule]]\ndeny = \"a b\"\n", "town.toml:2:8: expected a type"),
            ("[[rule]]\ndeny = \"/a//b\"\n", "town.toml:2:8: a path"),
            ("[rule]\ndeny = \"x\"\n", "[[rule]]"), ("rule = 3\n", "[[rule]]")):
        code, said = checked(folder, text, "w.muster")
        equal(code, USAGE)
        holds(said, *parts)
    rules = '[[rule]]\nusers = ["anna"]\ndeny = "game.Damage"\n'
    with ruled(folder, rules, ("anna", "edit")) as (server, tokens):
        for wrong, why in (('[[rule]]\nusers = ["anno"]\ndeny = "game.Health"\n', 'a user "anno" who does not exist; did you mean "anna"?'),
                           ('[[rule]]\ndeny = "game.Healht"\n', 'town.toml:6:8: there is no type game.Healht; did you mean "game.Health"?'),
                           ('[[rule]]\ndeny = "gama.*"\n', "there is no type gama.*")):
            written(folder, base(folder) + wrong)
            server.send_signal(signal.SIGHUP)
            wait_for(lambda why=why: why in (folder.path / "log").read_text(), why)
            denied(folder, tokens["anna"], "push", "gate", "Damage")
            folder.run("set", "gate", "Health.value", "3", "--token", tokens["anna"])
    written(folder, base(folder) + '[[rule]]\ndeny = "game.Healht"\n')
    server = folder.start(SERVER, "--config", "town.toml")
    equal(server.wait(timeout=20), USAGE)
    holds((folder.path / "log").read_text().splitlines()[-1], "there is no type game.Healht")


def a_user_that_sends_faster_than_allowed_waits_and_loses_nothing(folder):
    with ruled(folder, "", ("anna", "edit")) as (server, tokens):
        change(folder, server, "[limits]\nuser_edits_rate = 4\n")
        began = time.monotonic()
        for number in range(12):
            folder.run("spawn", f"/e{number}", "--token", tokens["anna"])
        assert time.monotonic() - began > 1.5, time.monotonic() - began
        equal(len(folder.json("ls")), 14)
        labels = r'\{user="1",name="anna"\}'
        assert metric(folder, "muster_user_edits_waits_total" + labels) > 0
        assert metric(folder, "muster_user_edits_total" + labels) >= 12
        assert metric(folder, "muster_user_seen_timestamp_seconds" + labels) > 1e9


def the_owners_token_can_be_replaced_while_the_server_runs(folder):
    folder.run("new", "game.muster", "--schema", GAME)
    (folder.path / "token").write_text("a" * 32 + "\n")
    (folder.path / "token").chmod(0o600)
    server = served(folder, 'token-file = "token"\nlog-file = "log"\naudit-log = "audit"\n')
    watch = folder.start(*watching("a" * 32))
    wait_for(lambda: len(folder.json("who")) == 2, "no session")
    (folder.path / "token").write_text("b" * 32 + "\n")
    server.send_signal(signal.SIGHUP)
    equal(watch.wait(timeout=20), UNREACHABLE)
    equal(json.loads((folder.path / "game.muster-server.json").read_text())["token"], "b" * 32)
    holds(folder.error(UNREACHABLE, "info", "--token", "a" * 32), "not valid")
    folder.run("info")
    for name in ("log", "audit"):
        text = (folder.path / name).read_text()
        assert "a" * 32 not in text and "b" * 32 not in text, text
    (folder.path / "token").write_text("short\n")
    server.send_signal(signal.SIGHUP)
    wait_for(lambda: "nothing is reloaded" in (folder.path / "log").read_text(), "no error")
    folder.run("info", "--token", "b" * 32)
    folder.stop(server)
