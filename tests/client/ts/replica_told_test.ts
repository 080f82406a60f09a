// A copy is what a server that the test plays has told, state by state, and what the copy tells adds up to what it holds.
import assert from 'node:assert/strict';

import { default_bytes, id_text, muster, nil, Replica, same_entity, session } from 'muster-client';
import type { Client, Entity, ReplicaChanges, StructValue } from 'muster-client';

import { Mirror } from './mirror.js';
import { Scripted } from './scripted.js';
import { Random, random_value, test } from './support.js';

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface One {
  entity: Entity;
  name: string;
  parent: Entity;
  components: Map<string, StructValue>;
}

/** A world that the test makes up, and what a watch would tell of its edits. */
class MadeUp {
  readonly all = new Map<number, One>();
  private readonly generations = new Map<number, number>();
  private frames: ((last: boolean) => void)[] = [];

  constructor(
    private readonly random: Random,
    private client: Client,
    private server: Scripted,
  ) {}

  /** Another session is told of the same world. */
  now(client: Client, server: Scripted): void {
    this.client = client;
    this.server = server;
  }
  private say(key: { name: string }, value: unknown, target?: Entity, rows?: [string, unknown][]): void {
    const { server } = this;
    this.frames.push((last) => {
      const request = server.request_of(session.Follow);
      server.tell(key, value, { request, flags: last ? 0 : 2, sequence: this.sequence, ...(target && { target }), ...(rows && { rows }) });
    });
  }
  sequence = 4n;
  /** What of whom is another in the coming state: a watch tells of each once. */
  private touched = new Set<string>();
  private fresh = new Set<One>();
  private touch(one: One, what: string): boolean {
    const key = `${id_text(one.entity)} ${what}`;
    if (this.fresh.has(one)) return true; // what else becomes of it is not told
    return this.touched.size !== this.touched.add(key).size;
  }
  private is_touched({ entity }: One): boolean {
    return [...this.touched].some((key) => key.startsWith(id_text(entity) + ' '));
  }
  /** What was said since the last call is the next state. */
  end(): void {
    ++this.sequence;
    this.touched.clear();
    this.fresh.clear();
    const { frames } = this;
    this.frames = [];
    frames.forEach((frame, i) => frame(i === frames.length - 1));
  }
  private named(name: string): string {
    if (name !== '') this.server.tell(muster.InternText, { text: name }, { request: 0n });
    return name;
  }
  /** Everything, as a watch begins. */
  say_all(): void {
    this.say(session.Watching, { sequence: this.sequence });
    for (const { entity, parent, name, components } of this.all.values()) {
      this.say(muster.Create, { parent, name: this.named(name) }, entity);
      for (const [component, value] of components) this.say(muster.Set, {}, entity, [[component, value]]);
    }
  }
  private value(component: string): StructValue {
    return random_value(this.client.types.get(component), this.random);
  }
  /** And itself, last. */
  private below(one: One): One[] {
    const children = [...this.all.values()].filter(({ parent }) => same_entity(parent, one.entity));
    return [...children.flatMap((child) => this.below(child)), one];
  }
  private pick(): One {
    return this.random.pick([...this.all.values()]);
  }
  private parent(of?: One): Entity {
    const { random } = this;
    if (this.all.size === 0 || random.next(4) === 0) return nil;
    const one = this.pick();
    return of && this.below(of).includes(one) ? nil : one.entity;
  }
  edit(): void {
    const { random } = this;
    const what = this.all.size < 4 ? 0 : random.next(12);
    if (what <= 1) {
      const index = 1 + random.next(40);
      if (this.all.has(index)) return;
      const generation = (this.generations.get(index) ?? 0) + 1;
      this.generations.set(index, generation);
      const one: One = { entity: { index, generation }, name: random.next(3) ? `n${random.next(20)}` : '', parent: this.parent(), components: new Map() };
      this.all.set(index, one);
      this.fresh.add(one);
      return this.say(muster.Create, { parent: one.parent, name: this.named(one.name) }, one.entity);
    }
    const one = this.pick();
    const component = random.pick(['golden.Health', 'golden.Config', 'golden.Dead']);
    switch (what) {
      case 2:
      case 3:
        if (this.below(one).some((each) => this.is_touched(each) && !this.fresh.has(each))) return;
        for (const each of this.below(one)) {
          this.all.delete(each.entity.index);
          this.say(what === 2 ? muster.Destroy : session.Left, {}, each.entity);
        }
        return;
      case 4:
      case 5:
        if (!this.touch(one, 'parent')) return;
        one.parent = this.parent(one);
        return this.say(muster.Reparent, { parent: one.parent }, one.entity);
      case 6:
        if (!this.touch(one, 'name')) return;
        one.name = random.next(3) ? `n${random.next(20)}` : '';
        return this.say(muster.Rename, { name: this.named(one.name) }, one.entity);
      case 7:
        if (!one.components.has(component) || !this.touch(one, component)) return;
        one.components.delete(component);
        return this.say(muster.Remove, { component: this.client.types.get(component).id }, one.entity);
      case 8: {
        // As many values come in one: side by side, a tag without bytes.
        const type = this.client.types.get(component);
        const some = [...this.all.values()].filter((other) => random.next(2) && this.touch(other, component));
        if (some.length === 0) return;
        const each = default_bytes(type);
        const values = new Uint8Array(type.tag ? 0 : some.length * type.size);
        some.forEach((other, i) => {
          if (!type.tag) values.set(each, i * type.size);
          other.components.set(component, defaults_of(this.client, component));
        });
        return this.say(session.Values, { component: type.id, value_bytes: type.tag ? 0 : type.size, entities: some.map(({ entity }) => entity), values });
      }
      default: {
        const names = (random.next(2) ? [component] : ['golden.Health', 'golden.Config']).filter((name) => this.touch(one, name));
        if (names.length === 0) return;
        const rows = names.map((name): [string, StructValue] => [name, this.value(name)]);
        for (const [name, value] of rows) one.components.set(name, value);
        // Name and parent are told by what is said of those.
        const kept: [string, StructValue][] = [['muster.Name', { text: 5n }], ['muster.ChildOf', { parent: one.entity }]];
        return this.say(muster.Set, {}, one.entity, random.next(2) ? [...rows, ...kept] : rows);
      }
    }
  }
}

/** What a component begins as. */
function defaults_of(client: Client, name: string): StructValue {
  const type = client.types.get(name);
  const value: StructValue = {};
  const bytes = default_bytes(type);
  for (const field of type.fields) {
    const size = field.size * (field.is_array ? field.count : 1);
    value[field.name] = client.fault_value({ type: type.id, field: field.name, value: bytes.slice(field.offset, field.offset + size) } as never);
  }
  return value;
}

function as_made_up(replica: Replica, world: MadeUp): void {
  assert.equal(replica.size, world.all.size);
  for (const one of world.all.values()) {
    const record = replica.get(one.entity)!;
    assert.deepEqual([record.name, record.parent], [one.name, one.parent], id_text(one.entity));
    for (const name of ['golden.Health', 'golden.Config', 'golden.Dead'])
      assert.deepEqual(replica.component(one.entity, { name }), one.components.get(name), `${name} of ${id_text(one.entity)}`);
    const children = [...world.all.values()].filter(({ parent }) => same_entity(parent, one.entity)).map(({ entity }) => entity.index);
    assert.deepEqual(replica.children(one.entity).map(({ entity }) => entity.index).sort(), children.sort());
    assert.equal(replica.child_count(one.entity), children.length);
    // The next entity of its index is another one, and there is none.
    const next = { index: one.entity.index, generation: one.entity.generation + 1 };
    assert.deepEqual([replica.get(next), replica.children(next), replica.child_count(next)], [undefined, [], 0]);
  }
  const roots = [...world.all.values()].filter(({ parent }) => parent.index === 0).length;
  assert.deepEqual([replica.children(nil).length, replica.child_count(nil)], [roots, roots]);
}

for (const packed of [[], ['golden.Health', 'golden.Dead']])
  test(`what a copy tells adds up to what it holds, and that is what came${packed.length ? ', packed' : ''}`, async () => {
    let gone = 0;
    for (let seed = 0; seed < 4; ++seed) {
      const random = new Random(seed);
      const first = await Scripted.open();
      const world = new MadeUp(random, first.client, first.server);
      const mirror = new Mirror();
      const all: ReplicaChanges[] = [];
      const replica = new Replica({
        change: (changes) => {
          mirror.take(changes);
          mirror.agree(replica, packed);
          all.push(changes);
        },
      });
      for (let i = 0; i < 20; ++i) world.edit();
      world.end(); // nobody hears of it
      const follow = async (client: Client): Promise<void> => {
        const following = replica.follow(client, { packed });
        await soon();
        world.say_all();
        world.end();
        await following;
      };
      await follow(first.client);
      as_made_up(replica, world);
      for (let round = 0; round < 25; ++round) {
        const edits = random.next(6);
        for (let i = 0; i < edits; ++i) world.edit();
        const before = all.length;
        world.end();
        as_made_up(replica, world);
        if (all.length > before) assert.deepEqual([all.at(-1)!.sequence, all.at(-1)!.clock_ns, replica.sequence], [world.sequence, world.sequence * 10n, world.sequence]);
      }
      // Of a second session only what is different is told.
      const kept = new Map([...replica].map((record) => [id_text(record.entity), record]));
      const second = await Scripted.open();
      world.now(second.client, second.server);
      all.length = 0;
      await follow(second.client);
      as_made_up(replica, world);
      assert.equal(all.length, 1);
      const [{ created, destroyed, left, moved, renamed, values, removed, packed: columns }] = all;
      assert.deepEqual([created, destroyed, left, moved, renamed, values, removed, columns].map(({ length }) => length), new Array(8).fill(0));
      for (const record of replica) assert.equal(record, kept.get(id_text(record.entity)), 'the object is the same one');
      const third = await Scripted.open();
      for (let i = 0; i < 15; ++i) world.edit();
      world.end(); // the second one hears of it
      await replica.stop();
      for (let i = 0; i < 40; ++i) world.edit();
      world.now(third.client, third.server);
      world.end(); // nobody does
      await follow(third.client);
      as_made_up(replica, world);
      gone += all.at(-1)!.destroyed.length;
      assert.equal(all.at(-1)!.left.length, 0); // whoever is not there any more is gone
      for (const { client } of [first, second, third]) client.close();
    }
    assert.ok(gone > 0);
  });

test('what is told of a component that nobody knows is passed over where it is taken off, and is the end where it has values', async () => {
  for (const is_message of [false, true]) {
    const { client, server } = await Scripted.open();
    const lost: string[] = [];
    const removed: string[] = [];
    const replica = new Replica({
      change: (changes) => removed.push(...changes.removed.map(({ component }) => component)),
      lost: ({ message }) => void lost.push(message),
    });
    const following = replica.follow(client);
    await soon();
    const request = server.request_of(session.Follow);
    server.tell(session.Watching, {}, { request, flags: 2 });
    server.tell(muster.Create, { parent: nil }, { request, sequence: 5n, target: { index: 1, generation: 1 } });
    await following;
    const nobody_has = client.types.get('golden.Health').id;
    for (const index of [1, 9]) for (const component of [7, nobody_has]) server.tell(muster.Remove, { component }, { request, sequence: 6n, target: { index, generation: 1 } });
    assert.deepEqual([client.ended, replica.size, replica.sequence, removed], [null, 1, 6n, []]);
    const component = is_message ? client.types.get('golden.Damage').id : 7;
    server.tell(session.Values, { component, value_bytes: 0 }, { request, sequence: 7n });
    assert.deepEqual([lost, replica.size, replica.sequence], [[`the server sent a bad batch: no component has the id ${component}`], 1, 6n]);
    assert.equal((await client.closed).kind, 'lost');
  }
});
