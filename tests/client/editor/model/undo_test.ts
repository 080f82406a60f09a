// Random edits of a page: undo brings the world back as it was, step by step, and redo as it had
// become. A second client looks.
import assert from 'node:assert/strict';

import { id_text, nil, same_entity, session } from 'muster-client';
import type { Client, Entity, StructValue } from 'muster-client';

import { copy_trees } from '../../../../client/editor/src/model/copies.js';
import type { Model } from '../../../../client/editor/src/model/model.js';
import { placeholder } from '../../../../client/editor/src/model/operations.js';
import type { Made } from '../../../../client/editor/src/model/operations.js';
import { default_value } from '../../../../client/editor/src/model/values.js';
import { Random, random_value, test } from '../../ts/support.js';
import { until, World } from '../../ts/world.js';
import { opened } from './around.js';

const health = 'golden.Health';
const config = 'golden.Config';

/** The world by paths: ids, children in their order (roots have none), and values. */
async function seen(client: Client): Promise<Record<string, unknown>> {
  const found: { entity: Entity; path: string; children: string[] }[] = [];
  const walk = async (node: Entity, path: string): Promise<void> => {
    for await (const page of client.children_all(node))
      for (const [i, entity] of page.entities.entries()) {
        const here = { entity, path: `${path}/${page.names[i]}`, children: [] as string[] };
        found.push(here);
        found.find((each) => same_entity(each.entity, node))?.children.push(page.names[i]);
        if (page.child_counts[i] > 0) await walk(entity, here.path);
      }
  };
  await walk(nil, '');
  const values = await Promise.all(found.map(({ entity }) => client.show(entity)));
  const all: Record<string, unknown> = {};
  found.forEach(({ entity, path, children }, i) => {
    const components = Object.entries(values[i].components).filter(([name]) => name.startsWith('golden.'));
    all[path] = { id: id_text(entity), children, components: Object.fromEntries(components) };
  });
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Until the page knows what the world holds of names, places and what is selected. */
async function agree(model: Model, other: Client): Promise<void> {
  const { sequence } = await other.ask(session.GetInfo);
  const alive: Entity[] = [];
  for await (const page of other.find_all({})) alive.push(...page.entities);
  const about = await Promise.all(alive.map((entity) => other.show(entity)));
  await until(`the page knows ${sequence}`, () => {
    if (model.world.size !== alive.length) return false;
    return alive.every((entity, i) => model.world.path(entity) === about[i].about.path);
  });
  for (const entity of model.selection.entities.peek()) {
    const { components } = await other.show(entity);
    const names = [health, config];
    await until('the page knows what is selected', () => {
      try {
        for (const name of names) assert.deepEqual(model.inspected.component(entity, { name }), components[name]);
        return true;
      } catch {
        return false;
      }
    });
  }
}

/** One edit that anybody could make; false: it was refused, or was none. */
async function edit(model: Model, other: Client, random: Random, number: number): Promise<boolean> {
  const all = [...model.world].map(({ entity }) => entity);
  const one = (): Entity => random.pick(all);
  const having: Entity[] = [];
  for await (const page of other.find_all({ components: [other.types.component(health).id] })) having.push(...page.entities);
  const [orc, elf] = [random.pick(having), random.pick(having)];
  const { edits } = model;
  const type = model.types.peek().get(health)!;
  const whole = (): StructValue => {
    const value = random_value(type, random);
    return { ...value, value: random.next(101), mesh: `mesh ${number}`, target: one(), slots: [0, 1].map(() => ({ count: random.next(99), item: `item ${number}`, owner: one() })) };
  };
  switch (random.next(13)) {
    case 0:
      return edits.set_field([orc], health, 'value', random.next(101));
    case 1:
      return edits.set_field(same_entity(orc, elf) ? [orc] : [orc, elf], health, 'at.y', (each: Entity) => each.index + number);
    case 2:
      return edits.set_field([orc], health, random.pick(['mesh', 'slots[1].item']), `text ${number}`);
    case 3:
      return edits.set_field([orc], health, random.pick(['target', 'slots[0].owner']), one());
    case 4:
      return random.next(2) ? edits.add_component(all, model.types.peek().get(config)!) : edits.remove_component(all, config);
    case 5:
      return edits.set_component([orc], health, whole());
    case 6:
      return edits.rename(one(), `orc ${random.next(4) ? number : random.next(number)}`);
    case 7:
    case 8: {
      const parent = random.next(4) ? one() : nil;
      const before = model.world.children(parent)[0]?.entity ?? nil;
      return edits.reparent([one()], parent, random.next(2) ? before : nil);
    }
    case 9: {
      const [root, child] = [placeholder(), placeholder()];
      const value = { ...default_value(type), mesh: '', target: child };
      const made: Omit<Made, 'before'>[] = [
        { entity: root, parent: one(), name: `orc ${number}`, components: { [health]: value } },
        { entity: child, parent: root, name: 'below', components: {} },
      ];
      return (await edits.create('Create', made, [root])).length > 0;
    }
    case 11:
      return having.length > 2 && edits.destroy([orc]);
    case 10:
      return (await edits.duplicate([orc], await copy_trees(model.client.value!, [orc]))).length > 0;
    default: {
      const drag = edits.drag('Drag');
      for (let i = 0; i < 3; ++i) drag.set(orc, health, 'regen', i + number);
      drag.commit();
      await drag.finished;
      return true;
    }
  }
}

for (const seed of [1, 2])
  test(`undo takes back and redo does again, whatever was edited (${seed})`, async (t) => {
    const world = await World.serve(t);
    const other = await world.connect('unix');
    const town = await other.create(nil, 'town');
    for (let i = 0; i < 3; ++i) await other.create(town, `orc ${-i}`, [health, { value: i, mesh: '' }]);
    // The page is another user, with steps of its own.
    const { token } = await other.ask(session.CreateToken, { name: 'ann', role: session.Role.admin });
    const model = await opened(t, world, token);
    const random = new Random(seed);
    const { edits } = model;
    const label = (): { undo?: string; redo?: string } => {
      const { undo, redo } = model.steps.next.peek();
      return { undo: undo?.label, redo: redo?.label };
    };
    /** The numbers of steps to undo and to redo. */
    const steps = async (): Promise<number[]> => {
      const { undo_steps, redo_steps } = await model.client.peek()!.ask(session.GetHistory, { limit: 1 });
      return [undo_steps, redo_steps];
    };
    const problems = () => model.log.lines.value.map(({ text }) => text).filter((text) => /^(Undo|Redo|Undid|Redid)/.test(text));
    const states: Record<string, unknown>[] = [await seen(other)];
    const edited = async (number: number): Promise<void> => {
      await agree(model, other);
      model.selection.set(random.next(3) ? [] : [random.pick([...model.world]).entity]);
      if (model.selection.active) await agree(model, other);
      const before = await steps();
      const is_done = await edit(model, other, random, number);
      await until('it was answered', () => !edits.is_busy());
      const now = await seen(other);
      if (!is_done) {
        assert.deepEqual(now, states.at(-1), 'what was refused changed nothing');
        assert.deepEqual(await steps(), before);
      } else if ((await steps())[0] !== before[0]) {
        states.push(now);
      }
    };
    let at = 0;
    const turn = async (way: 'undo' | 'redo'): Promise<void> => {
      const [done, undone] = await steps();
      const by = way === 'undo' ? -1 : 1;
      model.steps[way]();
      at += by;
      await until(`${way} ${at} is over`, () => !edits.is_busy());
      assert.deepEqual(problems(), []);
      assert.deepEqual(await steps(), [done + by, undone - by]);
      assert.deepEqual(await seen(other), states[at], `${way} ${at}`);
    };
    const all = async (way: 'undo' | 'redo'): Promise<void> => {
      while ((await steps())[way === 'undo' ? 0 : 1] > 0) await turn(way);
      await until('the page knows that there is no more', () => label()[way] === undefined);
    };
    for (let number = 1; number <= 14; ++number) await edited(number);
    assert.ok(states.length > 8);
    at = states.length - 1;
    await all('undo');
    assert.equal(at, 0);
    await all('redo');
    assert.equal(at, states.length - 1);
    // Another edit, and what was undone cannot be done again.
    await turn('undo');
    await turn('undo');
    states.length = at + 1;
    for (let number = 15; states.length === at + 1; ++number) await edited(number);
    assert.equal((await steps())[1], 0);
    at = states.length - 1;
    await all('undo');
    assert.equal(at, 0);
  });
