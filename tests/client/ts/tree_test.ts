import assert from 'node:assert/strict';

import { id_text, nil, same_entity, session, Tree } from 'muster-client';
import type { Client, Entity, TreeChanges } from 'muster-client';

import * as game from './everything.js';
import { Scripted } from './scripted.js';
import { Random, test } from './support.js';
import { unsaved, until, World } from './world.js';

/** A list as the server answers it when it is asked. */
async function asked(client: Client, node: Entity): Promise<string[]> {
  const lines: string[] = [];
  for await (const page of client.children_all(node))
    page.entities.forEach((each, i) => lines.push(`${id_text(each)} ${page.names[i]} ${page.child_counts[i]}`));
  return lines;
}
const shown = (tree: Tree, node: Entity): string[] =>
  tree.children(node).map((row) => `${id_text(row.entity)} ${row.name} ${row.child_count}`);

/** Until the tree shows of these nodes what the world holds. */
async function agree(client: Client, tree: Tree, nodes: Iterable<Entity>): Promise<void> {
  for (const node of nodes) {
    const should = (await asked(client, node).catch(() => [])).join('\n');
    await until(`${id_text(node)} shows\n${should}`, () => shown(tree, node).join('\n') === should);
  }
}

test('open nodes show their children in order, whatever is edited, opened and closed', async (t) => {
  const world = await World.serve(t);
  const [editor, viewer] = [await world.connect(), await world.connect()];
  const random = new Random(7);
  const alive = [await editor.create(nil, 'top')];
  const open = new Map<number, Entity>([[0, nil]]);
  const changes: TreeChanges[] = [];
  const tree = new Tree({ change: (change) => void changes.push(change) });
  await tree.open(nil);
  await tree.follow(viewer);
  const one = () => random.pick(alive);
  const edit = async (): Promise<unknown> => {
    const [entity, other] = [one(), random.next(8) ? one() : nil];
    switch (random.next(9)) {
      case 0:
        return alive.length > 25 ? editor.destroy(entity) : null;
      case 1:
        return editor.rename(entity, random.next(3) ? `n${random.next(100)}` : '');
      case 2:
      case 3: {
        const before = (await editor.ask(session.ListChildren, { entity: other, offset: 0, limit: 3 }).catch(() => ({ entities: [] }))).entities.at(-1) ?? nil;
        return editor.reparent(entity, other, other === nil || same_entity(before, entity) ? nil : before);
      }
      case 4:
        return editor.set(entity, [game.Health, {}]);
      default:
        return alive.push(await editor.create(other, random.next(2) ? `c${random.next(1000)}` : ''));
    }
  };
  for (let round = 0; round < 8; ++round) {
    for (let i = 0; i < 25; ++i)
      await edit().catch((error: { kind?: string }) => assert.equal(error.kind, 'refused', String(error)));
    for (let i = 0; i < 4; ++i) {
      const node = one();
      if (open.has(node.index)) {
        open.delete(node.index);
        void tree.close(node);
      } else {
        open.set(node.index, node);
        void tree.open(node);
      }
    }
    await agree(editor, tree, open.values());
  }
  assert.ok(changes.length > 10);
  await tree.stop();
});

test('a node that was opened shows its children when open resolves, and none when it was closed', async (t) => {
  const world = await World.serve(t);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  for (const name of ['a', 'b', 'c']) await client.create(town, name, [game.Health, {}]);
  const all: TreeChanges[] = [];
  const tree = new Tree({ change: (changes) => void all.push(changes) });
  await tree.follow(client);
  assert.deepEqual(tree.children(nil), []);
  await tree.open(nil, town);
  const names = () => tree.children(town).map((row) => row.name);
  assert.deepEqual(names(), ['a', 'b', 'c']);
  const [a, b, c] = tree.children(town);
  assert.deepEqual([a.child_count, a.parent, tree.get(b.entity) === b], [0, town, true]);
  assert.equal(client.types.find(a.components.at(-1)!)?.role, 'component');

  const before = tree.children(town);
  const d = await client.create(town, 'd');
  await until('it is the last', () => names().join() === 'a,b,c,d');
  assert.equal(before.length, 3); // who has a list keeps it as it was
  all.length = 0;
  await client.destroy(d);
  await until('it is gone', () => names().join() === 'a,b,c');
  assert.ok(all.some(({ lists }) => lists.some((each) => same_entity(each, town))));
  await tree.open(a.entity);
  assert.deepEqual([tree.is_open(a.entity), tree.children(a.entity)], [true, []]);
  await tree.close(a.entity);
  all.length = 0;
  await client.reparent(c.entity, town, a.entity);
  await until('the order is another', () => names().join() === 'c,a,b');
  assert.deepEqual(
    all.flatMap((changes) => changes.lists.map(id_text)),
    [id_text(town)],
  );
  assert.equal(tree.get(b.entity), b); // nothing of it is another
  await client.create(a.entity, 'below');
  await until('it has a child', () => tree.get(a.entity)?.child_count === 1);
  await tree.close(town);
  assert.deepEqual([names(), tree.is_open(town), tree.is_open(nil)], [[], false, true]);

  await tree.open(town);
  all.length = 0;
  await client.destroy(town);
  await until('the node died', () => all.some((changes) => changes.died.some((each) => same_entity(each, town))));
  assert.deepEqual([tree.children(nil), tree.is_open(town)], [[], false]);
  // Nobody asks for it again.
  all.length = 0;
  await tree.follow(await world.connect());
  assert.deepEqual([all.flatMap((changes) => changes.died), tree.is_open(town), tree.is_open(nil)], [[], false, true]);
});

test('what is opened, closed or dies while a tree begins to follow counts', async () => {
  const { client, server } = await Scripted.open();
  const node = (index: number): Entity => ({ index, generation: 1 });
  const died: Entity[] = [];
  const tree = new Tree({ change: (changes) => void died.push(...changes.died) });
  await tree.open(node(5), node(6));
  const following = tree.follow(client);
  await until('the watch was sent', () => server.request_of(session.Follow) !== 0n);
  const request = server.request_of(session.Follow);
  await tree.open(node(7));
  await tree.close(node(6));
  server.tell(session.Watching, { sequence: 5n }, { request, flags: 2 });
  server.tell({ name: 'muster.Destroy' }, {}, { request, sequence: 5n, target: node(5) });
  await following;
  assert.deepEqual(died, [node(5)]);
  await until('the rest is asked for', () => server.request_of(session.FollowMore) !== 0n);
  const more = server.sent.find((each) => each.name === session.FollowMore.name)!.value as session.FollowMore;
  assert.deepEqual(more.open, [node(7)]);
  assert.ok(more.close.some((each) => same_entity(each, node(6))));
  client.close();
});

test('after a server was killed, the tree follows its successor with the same nodes open', async (t) => {
  const world = await World.serve(t, 'everything.bfbs', ...unsaved);
  const client = await world.connect();
  const town = await client.create(nil, 'town');
  const inn = await client.create(town, 'inn');
  await client.ask(session.Save);
  const lost: string[] = [];
  const tree = new Tree({ lost: (error) => void lost.push(error.kind) });
  await tree.open(nil, town, inn);
  await tree.follow(client);
  await client.create(inn, 'unsaved');
  await until('it is there', () => tree.children(inn).length === 1);
  await world.kill();
  await client.closed;
  assert.deepEqual([lost, tree.children(inn).length], [['lost'], 1]);
  await world.start();
  await tree.follow(await world.connect());
  assert.deepEqual([tree.children(nil).length, tree.children(town)[0].name, tree.children(inn)], [1, 'inn', []]);
});
