// Open nodes are as a server that the test plays has told, state by state, and what the tree tells is what became another, and no more.
import assert from 'node:assert/strict';

import { id_text, nil, same_entity, session, Tree } from 'muster-client';
import type { Client, Entity, TreeChanges, TreeRow } from 'muster-client';

import { Scripted } from './scripted.js';
import { Random, test } from './support.js';

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface One {
  entity: Entity;
  name: string;
  parent: One | null;
  children: One[];
  components: number[];
}

/** A world that the test makes up, and what is told of the open nodes of it. */
class MadeUp {
  readonly roots: One[] = [];
  readonly all = new Map<number, One>();
  readonly open = new Map<number, Entity>();
  private told = new Map<number, { entity: Entity; row: string; list: number }>();
  private dead: Entity[] = [];
  private last = 0;
  private readonly free: Entity[] = [];
  sequence = 1n;

  constructor(private readonly random: Random) {}

  private siblings(of: One | null): One[] {
    return of ? of.children : this.roots;
  }
  pick(): One {
    return this.random.pick([...this.all.values()]);
  }
  private inside(one: One): One[] {
    return [one, ...one.children.flatMap((child) => this.inside(child))];
  }
  edit(): void {
    const { random } = this;
    const what = this.all.size < 5 ? 0 : random.next(8);
    const one = this.all.size > 0 ? this.pick() : null;
    if (what <= 2 || !one) {
      const again = random.next(2) ? this.free.shift() : undefined;
      const entity = again ? { index: again.index, generation: again.generation + 1 } : { index: ++this.last, generation: 1 };
      const parent = random.next(5) ? one : null;
      const made: One = { entity, name: `n${random.next(9)}`, parent, children: [], components: [random.next(9)] };
      this.all.set(entity.index, made);
      const siblings = this.siblings(parent);
      siblings.splice(random.next(3) ? siblings.length : random.next(siblings.length + 1), 0, made);
    } else if (what === 3) {
      for (const each of this.inside(one)) {
        this.all.delete(each.entity.index);
        this.dead.push(each.entity);
        this.free.push(each.entity);
      }
      this.siblings(one.parent).splice(this.siblings(one.parent).indexOf(one), 1);
    } else if (what <= 5) {
      const to = random.next(5) ? this.pick() : null;
      if (to && this.inside(one).includes(to)) return;
      this.siblings(one.parent).splice(this.siblings(one.parent).indexOf(one), 1);
      one.parent = to;
      const siblings = this.siblings(to);
      siblings.splice(random.next(siblings.length + 1), 0, one);
    } else if (what === 6) {
      one.name = `n${random.next(9)}`;
    } else {
      one.components = Array.from({ length: random.next(3) }, () => random.next(9));
    }
  }
  children(node: Entity): One[] | null {
    if (node.index === 0) return this.roots.slice().sort((a, b) => a.entity.index - b.entity.index);
    const one = this.all.get(node.index);
    return one && same_entity(one.entity, node) ? one.children : null;
  }
  row(one: One): TreeRow {
    const before = one.parent ? one.parent.children[one.parent.children.indexOf(one) - 1] : undefined;
    return {
      entity: one.entity,
      parent: one.parent?.entity ?? nil,
      after: before?.entity ?? nil,
      name: one.name,
      child_count: one.children.length,
      components: one.components,
    };
  }

  /** Tells what is another of the nodes that are open since the last call; with `anew` all. Returns whose lists and which rows that were. */
  tell(server: Scripted, anew = false): { lists: Set<number>; rows: Set<number>; died: Set<string> } {
    if (anew) this.told.clear();
    const request = server.request_of(session.Follow);
    const frames: ((last: boolean) => void)[] = [];
    const how = (last: boolean) => ({ request, flags: last ? 0 : 2, sequence: this.sequence });
    if (anew) frames.push((last) => server.tell(session.Watching, {}, how(last)));
    const lists = new Set<number>();
    const rows = new Set<number>();
    const died = new Set<string>();
    for (const entity of this.dead) {
      const known = this.told.get(entity.index);
      const is_open = this.open.has(entity.index) && same_entity(this.open.get(entity.index)!, entity);
      if (is_open) {
        died.add(id_text(entity));
        this.open.delete(entity.index);
        for (const [index, { list }] of this.told) if (list === entity.index) this.told.delete(index);
      }
      if (known && same_entity(known.entity, entity)) {
        this.told.delete(entity.index);
        lists.add(known.list);
      }
      if (!anew && (known || is_open)) frames.push((last) => server.tell({ name: 'muster.Destroy' }, {}, { ...how(last), target: entity }));
    }
    this.dead = [];
    const now = new Map<number, { entity: Entity; row: string; list: number }>();
    const changed: TreeRow[] = [];
    for (const node of this.open.values())
      for (const one of this.children(node) ?? []) {
        const row = this.row(one);
        const text = JSON.stringify(row);
        const known = this.told.get(one.entity.index);
        now.set(one.entity.index, { entity: one.entity, row: text, list: node.index });
        if (known?.row === text) continue;
        changed.push(row);
        rows.add(one.entity.index);
        const before = known && (JSON.parse(known.row) as TreeRow);
        if (!before || known.list !== node.index || !same_entity(before.after, row.after)) lists.add(node.index);
        if (known && known.list !== node.index) lists.add(known.list);
      }
    for (const [index, { entity, list }] of this.told)
      if (!now.has(index)) {
        lists.add(list);
        frames.push((last) => server.tell(session.Unlisted, {}, { ...how(last), target: entity }));
      }
    this.told = now;
    for (let at = 0; at < changed.length; at += 3) {
      const some = changed.slice(at, at + 3);
      const columns = {
        entities: some.map(({ entity }) => entity),
        parents: some.map(({ parent }) => parent),
        after: some.map(({ after }) => after),
        names: some.map(({ name }) => name),
        child_counts: some.map(({ child_count }) => child_count),
        component_counts: some.map(({ components }) => components.length),
        components: some.flatMap(({ components }) => components),
      };
      frames.push((last) => server.tell(session.ChildRows, columns, how(last)));
    }
    frames.forEach((frame, i) => frame(i === frames.length - 1));
    for (const node of [...lists]) if (node !== 0 && !this.open.has(node)) lists.delete(node);
    if (!this.open.has(0)) lists.delete(0);
    return { lists, rows, died };
  }
}

function as_made_up(tree: Tree, world: MadeUp): void {
  for (const node of world.open.values()) {
    assert.ok(tree.is_open(node), id_text(node));
    assert.deepEqual(tree.children(node), world.children(node)!.map((one) => world.row(one)), id_text(node));
    for (const row of tree.children(node)) assert.equal(tree.get(row.entity), row);
  }
  for (const { entity, parent } of world.all.values()) {
    if (!world.open.has(entity.index)) assert.deepEqual([tree.is_open(entity), tree.children(entity)], [false, []]);
    if (!world.open.has(parent?.entity.index ?? 0)) assert.equal(tree.get(entity), undefined);
    assert.equal(tree.get({ index: entity.index, generation: entity.generation + 1 }), undefined);
  }
}

test('a tree is what came of its open nodes, and tells which lists and rows became others', async () => {
  for (let seed = 0; seed < 3; ++seed) {
    const random = new Random(seed);
    const world = new MadeUp(random);
    for (let i = 0; i < 12; ++i) world.edit();
    const changes: TreeChanges[] = [];
    const tree = new Tree({ change: (each) => void changes.push(each) });
    let [client, server]: [Client, Scripted] = [null!, null!];
    /** Lists that somebody has, and as they were. */
    const given: [readonly TreeRow[], string][] = [];
    const keep = (): void => {
      for (const node of world.open.values()) if (random.next(2)) given.push([tree.children(node), JSON.stringify(tree.children(node))]);
    };
    const follow = async (): Promise<void> => {
      ({ client, server } = await Scripted.open());
      const following = tree.follow(client);
      await soon();
      world.tell(server, true);
      await following;
      as_made_up(tree, world);
    };
    world.open.set(0, nil);
    await tree.open(nil);
    await follow();
    const late = new Set<string>();
    /** Opens or closes nodes: the change begins with a Following, and its state follows. */
    const turn = async (open: Entity[], close: Entity[]): Promise<void> => {
      const call = open.length > 0 ? tree.open(...open) : tree.close(...close);
      for (const node of open) world.open.set(node.index, node);
      for (const node of close) world.open.delete(node.index);
      await soon();
      const change = server.request_of(session.FollowMore);
      server.tell(session.Following, { change }, { request: server.request_of(session.Follow), flags: 2, sequence: world.sequence });
      world.tell(server);
      server.tell(session.Followed, {}, { request: change });
      await call;
      // That a node without children is open now is told with the next state.
      for (const node of open) if (world.children(node)!.length === 0) late.add(String(node.index));
    };
    for (let round = 0; round < 40; ++round) {
      ++world.sequence;
      changes.length = 0;
      keep();
      if (random.next(3) === 0) {
        const one = world.pick();
        const known = world.open.get(one.entity.index);
        if (known) await turn([], [one.entity]);
        else await turn([one.entity], []);
      } else {
        for (let i = random.next(4); i >= 0; --i) world.edit();
        const told = world.tell(server);
        const sum = (pick: (each: TreeChanges) => string[]) => new Set(changes.flatMap(pick));
        assert.deepEqual(sum(({ rows }) => rows.map(({ entity }) => String(entity.index))), new Set([...told.rows].map(String)), `seed ${seed}, round ${round}`);
        const lists = sum((each) => each.lists.map(({ index }) => String(index)));
        for (const index of late) if (!told.lists.has(Number(index))) lists.delete(index);
        if (changes.length > 0) late.clear();
        assert.deepEqual(lists, new Set([...told.lists].map(String)), `seed ${seed}, round ${round}`);
        assert.deepEqual(sum(({ died }) => died.map(id_text)), told.died);
        if (changes.length > 0) assert.deepEqual([tree.sequence, tree.clock_ns, changes[0].sequence, changes[0].clock_ns], [world.sequence, world.sequence * 10n, world.sequence, world.sequence * 10n]);
        assert.ok(changes.length <= 1);
      }
      as_made_up(tree, world);
      for (const [list, text] of given) assert.equal(JSON.stringify(list), text, 'who has a list keeps it as it was');
      if (round === 25) {
        client.close();
        for (let i = 0; i < 6; ++i) world.edit();
        const died = [...world.open.values()].filter((node) => world.children(node) === null);
        for (const node of died) {
          world.open.delete(node.index);
          await tree.close(node);
        }
        await follow();
      }
    }
    client.close();
  }
});

test('rows that do not fit together end the session, and that is told once', async () => {
  const { client, server } = await Scripted.open();
  const lost: string[] = [];
  const tree = new Tree({ lost: ({ kind, message }) => void lost.push(`${kind}: ${message}`) });
  await tree.open(nil);
  const following = tree.follow(client);
  await soon();
  const request = server.request_of(session.Follow);
  server.tell(session.Watching, {}, { request, sequence: 1n });
  await following;
  server.tell(session.ChildRows, { entities: [{ index: 1, generation: 1 }] }, { request, sequence: 2n });
  assert.equal((await client.closed).kind, 'lost');
  assert.deepEqual([lost.length, /^lost: the server sent a bad batch: /.test(lost[0]), tree.sequence], [1, true, 1n]);
});

test('of two calls of follow the later one keeps its watch, and the other one is ended', async () => {
  const { client, server } = await Scripted.open();
  const tree = new Tree();
  await tree.open(nil);
  const first = tree.follow(client).then(
    () => 'done',
    (error: { kind: string; message: string }) => `${error.kind}: ${error.message}`,
  );
  await soon();
  const early = server.request_of(session.Follow);
  const second = tree.follow(client);
  await soon();
  const late = server.request_of(session.Follow);
  assert.deepEqual([(server.sent.at(-1)!.value as session.Follow).rate_max, early === late], [0, false]); // after every input
  server.tell(session.Watching, {}, { request: early, sequence: 1n });
  server.tell(session.Watching, {}, { request: late, sequence: 1n });
  await second;
  assert.equal(await first, 'mistaken: the tree was told to follow something else meanwhile');
  await soon();
  const ended = server.sent.filter(({ name }) => name === session.Unwatch.name).map(({ value }) => (value as session.Unwatch).watch);
  assert.deepEqual(ended, [early]);
  await tree.close({ index: 7, generation: 1 }); // was never open: nothing is asked
  await tree.open(nil); // is open
  assert.equal(server.request_of(session.FollowMore), 0n);
  await tree.stop();
  assert.deepEqual(server.sent.at(-1)!.value, { watch: late });
  client.close();
});
