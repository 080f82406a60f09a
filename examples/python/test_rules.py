"""Tests the rules of the skirmish with pytest: a hit, a death, and what an undo takes back.

    MUSTER_SERVER=BUILD/server/muster-server SKIRMISH=BUILD/examples/skirmish/libskirmish.so pytest

Each test has a small world of its own, whose clock is paused, so nothing happens by chance."""
import os
import subprocess
import time

import muster
import pytest


@pytest.fixture
def world(tmp_path):
    path = tmp_path / "rules.muster"
    command = [os.environ["MUSTER_SERVER"], path, "--plugin", os.environ["SKIRMISH"], "--hz", "60", "--paused",
               "--listen", "", "--unix", tmp_path / "socket", "--quiet"]
    server = subprocess.Popen(command, env={**os.environ, "SKIRMISH_ENTITIES": "200"})
    try:
        with connected(path, server) as client:
            yield client
    finally:
        server.terminate()
        server.wait(timeout=20)


def connected(path, server):
    """Connects as soon as the server has opened the world."""
    until = time.monotonic() + 20
    while True:
        try:
            return muster.connect(path)
        except muster.Lost:
            if server.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.02)


def unit(world, army="red"):
    """Returns the id of a unit."""
    return world.find("unit-0", under=f"/{army}", having="Unit")[0].entity


def test_a_hit_takes_health_from_a_unit(world):
    one = unit(world)
    before = world.show(one)["Health"].value
    world.push(one, "skirmish.Damage", amount=30)
    assert world.show(one)["Health"].value == before - 30


def test_a_unit_without_health_dies_and_its_squad_has_one_less(world):
    one = unit(world)
    squad = world.show(one).parent
    units = world.show(squad)["Squad"].units
    world.push(one, "skirmish.Damage", amount=world.show(one)["Health"].value)
    world.step()
    with pytest.raises(muster.Refused) as caught:
        world.show(one)
    assert caught.value.code == "dead_entity"
    assert world.show(squad)["Squad"].units == units - 1


@pytest.mark.parametrize("amount", [-1, 100_001, float("nan")])
def test_a_hit_outside_of_the_range_is_refused(world, amount):
    with pytest.raises(muster.Refused):
        world.push(unit(world), "skirmish.Damage", amount=amount)


def after_a_fight(world, ticks):
    """Returns the health of each entity after a run of some ticks, and ends the run."""
    end = world.clock().tick + ticks
    world.play()  # which also starts the clock
    world.pause()
    world.step(end - world.clock().tick)
    found = [(each.path, world.show(each.entity)["Health"].value) for each in world.find(having="Health")]
    world.stop()
    return found


def test_the_battle_is_the_same_each_time(world):
    assert after_a_fight(world, 300) == after_a_fight(world, 300)
