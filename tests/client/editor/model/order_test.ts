// The open nodes of the tree: what is asked for, what is told, and what becomes of nodes that die.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';

import { nil, session } from 'muster-client';
import type { Entity } from 'muster-client';

import { moved_roots } from '../../../../client/editor/src/model/root_order.js';
import { SiblingOrder } from '../../../../client/editor/src/model/sibling_order.js';
import { Scripted } from '../../ts/scripted.js';
import { test } from '../../ts/support.js';
import { entity, settled } from './played.js';

/** As ChildRows of one parent, in this order. */
const rows = (parent: Entity, ...children: Entity[]) => ({
  entities: children,
  parents: children.map(() => parent),
  after: children.map((_, i) => (i === 0 || parent.index === 0 ? nil : children[i - 1])),
  names: children.map(({ index }) => `n${index}`),
  child_counts: children.map(() => 0),
  component_counts: children.map(() => 0),
  components: [],
});

async function opened(t: TestContext, follows = true) {
  const { client, server } = await Scripted.open();
  t.after(() => client.close());
  const failed: string[] = [];
  const order = new SiblingOrder((error) => void failed.push(error.message));
  server.answers.set(session.FollowMore.name, () => [session.Followed, {}]);
  const asked = () => server.sent.filter(({ name }) => name === session.FollowMore.name).map(({ value }) => value as session.FollowMore);
  const follow = async (): Promise<void> => {
    const following = order.follow(client);
    await settled();
    server.tell(session.Watching, {}, { request: server.request_of(session.Follow), sequence: 1n });
    await following;
  };
  if (follows) await follow();
  const tell = (key: { name: string }, value: unknown, more = {}): void =>
    server.tell(key, value, { request: server.request_of(session.Follow), sequence: 2n, ...more });
  return { client, server, order, failed, asked, follow, tell };
}

test('what is open before the session begins is asked for with it, at most twenty times a second', async (t) => {
  const { server, order, follow } = await opened(t, false);
  order.open(nil, entity(5));
  const before = order.version.value;
  await follow();
  const { open, rate_max } = server.sent.find(({ name }) => name === session.Follow.name)!.value as session.Follow;
  assert.deepEqual([open, rate_max], [[nil, entity(5)], 20]);
  assert.ok(order.version.value > before);
  assert.deepEqual(order.opened.value, [nil, entity(5)]);
});

test('a node is opened once and closed once, and whoever listens hears of it at once', async (t) => {
  const { order, asked } = await opened(t);
  const heard: number[] = [];
  const end = order.opened.subscribe((nodes) => void heard.push(nodes.length));
  const version = order.version.value;
  order.open(entity(1), entity(2));
  assert.ok(order.version.value > version);
  const [is_open, later, other] = [entity(1), entity(1, 2), entity(3)].map((each) => order.is_open(each));
  assert.deepEqual([is_open, later, other], [true, false, false]);
  order.open(entity(1));
  await settled();
  order.open(entity(2), entity(3));
  await settled();
  order.close(entity(9));
  order.close(entity(1, 2));
  const closing = order.version.value;
  order.close(entity(1));
  assert.ok(order.version.value > closing);
  await settled();
  assert.deepEqual(
    asked().map(({ open, close }) => [open.map(({ index }) => index), close.map(({ index }) => index)]),
    [
      [[1, 2], []],
      [[3], []],
      [[], [1]],
    ],
  );
  assert.deepEqual([heard, order.opened.value], [[0, 2, 3, 2], [entity(2), entity(3)]]);
  end();
});

test('rows are known while their node is open, and each change is another version', async (t) => {
  const { order, tell } = await opened(t);
  const town = entity(1);
  order.open(nil, town);
  await settled();
  assert.deepEqual([order.children(entity(7)), order.rows(entity(7))], [undefined, []]);
  const version = order.version.value;
  tell(session.ChildRows, rows(town, entity(3), entity(2)));
  assert.equal(order.version.value, version + 1);
  assert.deepEqual(order.children(town), [entity(3), entity(2)]);
  assert.deepEqual(order.rows(town).map(({ name }) => name), ['n3', 'n2']);
  assert.deepEqual([order.row(entity(2))?.parent, order.row(entity(2, 2))], [town, undefined]);
});

test('a node that dies is open no more, and the others stay', async (t) => {
  const { order, tell } = await opened(t);
  order.open(entity(1), entity(2));
  await settled();
  const heard: number[][] = [];
  const end = order.opened.subscribe((nodes) => void heard.push(nodes.map(({ index }) => index)));
  tell({ name: 'muster.Destroy' }, {}, { target: entity(3) });
  tell({ name: 'muster.Destroy' }, {}, { target: entity(1) });
  assert.deepEqual([heard, order.is_open(entity(1)), order.is_open(entity(2))], [[[1, 2], [2]], false, true]);
  end();
});

test('what goes wrong is told while the session lives, and not of one that is over', async (t) => {
  const { client, server, order, failed } = await opened(t);
  server.answers.set(session.FollowMore.name, () => [session.Fault, { code: session.FaultCode.refused, text: 'too many' }]);
  order.open(entity(1));
  await settled();
  assert.deepEqual(failed, ['too many']);
  order.close(entity(1));
  await settled();
  assert.deepEqual(failed, ['too many', 'too many']);
  server.answers.set(session.FollowMore.name, () => null);
  order.open(entity(2));
  client.close();
  await settled();
  assert.equal(failed.length, 2);
});

test('roots are moved by places between those of their new neighbours; all get one if none is left', () => {
  const [a, b, c, d] = [1, 2, 3, 4].map((index) => ({ index, generation: 1 }));
  const given = new Map<number, number>();
  const place = (root: { index: number }): number => given.get(root.index) ?? root.index;
  const move = (moved: (typeof a)[], before: typeof a | null): number[] => {
    const all = [a, b, c, d].sort((p, q) => place(p) - place(q));
    for (const operation of moved_roots(all, moved, before, place))
      if (operation.kind === 'set') for (const { entity, value } of operation.values) given.set(entity.index, value.place as number);
    return [a, b, c, d].sort((p, q) => place(p) - place(q)).map(({ index }) => index);
  };
  assert.deepEqual(move([a], b), [1, 2, 3, 4]);
  assert.equal(given.size, 0); // it is there already
  assert.deepEqual(move([d], b), [1, 4, 2, 3]);
  assert.deepEqual([...given.keys()], [4]);
  assert.deepEqual(move([a, b], null), [4, 3, 1, 2]);
  assert.deepEqual(move([c, b], d), [3, 2, 4, 1]);
  for (let i = 0; i < 200; ++i) {
    assert.deepEqual(move([c], d), [2, 3, 4, 1]);
    assert.deepEqual(move([b], d), [3, 2, 4, 1]);
  }
});
