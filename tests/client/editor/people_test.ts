// Two browsers, a script in Python and an agent on one level: each sees the others, leaves alone
// what they drag, and undoes its own edits only.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

import { nil } from 'muster-client';
import type { Client } from 'muster-client';
import type { Locator } from 'playwright-core';

import { component, Editor, given, test, until, World } from './page.js';

const transform = 'scene.Transform';
const shape = 'scene.Shape';

/** A program that answers each line with one line. */
class Program {
  private readonly lines: AsyncIterator<string>;
  private constructor(private readonly process: ChildProcess) {
    this.lines = createInterface({ input: process.stdout! })[Symbol.asyncIterator]();
  }
  /** Starts a Python program as a user. */
  static start(t: TestContext, words: string[], world: World, token: string): Program {
    const env = { ...process.env, PYTHONPATH: `${given('MUSTER_SOURCES')}/client/python`, MUSTER_TOKEN: token };
    const child = spawn('python3', words, { cwd: world.folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => child.kill());
    return new Program(child);
  }
  async say(line: string): Promise<string> {
    this.process.stdin!.write(line + '\n');
    const { value } = (await this.lines.next()) as { value: string };
    return value;
  }
}

/** Carries out each line as a statement. */
const script = `
import sys, time, muster
world = muster.connect("town.muster", kind="script", resumes=True)
def when_selects(name, entity):
    "Returns when this session has seen that a user has selected an entity, in ms."
    entity = world.entity(entity)
    with world.people() as people:
        while not any(each.name == name and entity in each.selection for each in people.here.values()):
            people.next(10)
    return time.time() * 1000
for line in sys.stdin:
    names = {"world": world, "when_selects": when_selects, "people": {each.name: each for each in world.presence()}}
    exec("said = " + line, names)
    print(repr(names["said"]).replace("\\n", " "), flush=True)
`;

class Agent {
  private number = 0;
  constructor(private readonly program: Program) {}
  async ask(method: string, params: object): Promise<string> {
    return this.program.say(JSON.stringify({ jsonrpc: '2.0', id: ++this.number, method, params }));
  }
  async call(name: string, args: object): Promise<string> {
    return this.ask('tools/call', { name, arguments: args });
  }
}

const x_of = async (client: Client, name: string): Promise<number> =>
  ((await component(client, await client.entity(name), transform)).position as { x: number }).x;
/** Resolves with the time at which a row is clicked, in ms. */
const when_clicked = (editor: Editor, row: string): Promise<number> =>
  editor.row(row).evaluate(
    (node) =>
      new Promise<number>((resolve) => {
        const told = (): void => resolve(performance.timeOrigin + performance.now());
        node.addEventListener('click', told, { once: true, capture: true });
      }),
  );
/** Resolves with the time at which a row has a person's mark, in ms. */
const when_marked = (editor: Editor, row: string, name: string): Promise<number> =>
  editor.row(row).evaluate(
    (node, mark) =>
      new Promise<number>((resolve) => {
        const look = (): void => {
          if (node.querySelector(mark)) resolve(performance.timeOrigin + performance.now());
        };
        new MutationObserver(look).observe(node, { subtree: true, childList: true, attributes: true });
        look();
      }),
    `.person-mark[data-name="${name}"]`,
  );
const mark = (editor: Editor, row: string, name: string, kind = ''): Locator =>
  editor.row(row).locator(`.person-mark${kind}[data-name="${name}"]`);

test('two browsers, a script and an agent on one level: each sees the others, asks before it touches what they move, and undoes its own edits only', async (t) => {
  const world = await World.serve(t, ['--level', '--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  for (const [i, name] of ['tower', 'gate', 'house', 'well'].entries())
    await other.create(nil, name, [transform, { position: { x: 3 * i, y: 0, z: 0 } }], [shape, {}]);
  const token = (name: string): string =>
    (JSON.parse(world.run('token', 'create', name, '--role', 'admin', '--world', world.path, '--json')) as { token: string }).token;
  const ann = await Editor.open(t, world, undefined, world.url_for(token('Ann')));
  const bob = await Editor.open(t, world, { width: 1000, height: 640 }, world.url_for(token('Bob')));
  const py = Program.start(t, ['-c', script], world, token('Pia'));
  const robo = new Agent(Program.start(t, ['-m', 'muster.mcp', '--world', world.path], world, token('Robo')));
  await robo.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} });
  const people = (editor: Editor): Locator => editor.page.getByRole('group', { name: 'Other users' });

  // Each sees who is there, and what the others have selected.
  for (const name of ['Bob', 'Pia', 'Robo']) await people(ann).getByRole('button', { name }).waitFor();
  assert.match(await people(ann).getByRole('button', { name: 'Robo' }).innerText(), /agent/);
  await ann.select('tower');
  await mark(bob, 'tower', 'Ann').waitFor();
  await t.test('a selection is seen by the other browser, the script and the agent', async () => {
    const gate = await other.entity('gate');
    const [clicked, shown] = [when_clicked(ann, 'gate'), when_marked(bob, 'gate', 'Ann')];
    const heard = py.say('when_selects("Ann", "gate")').then(Number);
    const told = (async (): Promise<number> => {
      while (!(await robo.call('info', {})).includes(`Ann\\",\\"kind\\":\\"editor\\",\\"selected\\":[\\"${gate.index}:${gate.generation}\\"]`));
      return Date.now();
    })();
    await ann.row('gate').click();
    const begun = await clicked;
    for (const [who, at] of [['browser', shown], ['script', heard], ['agent', told]] as const)
      t.diagnostic(`the ${who} sees a selection after ${Math.round((await at) - begun)} ms`);
  });
  await mark(bob, 'tower', 'Ann').waitFor({ state: 'detached' });
  await bob.page.locator('.viewport-person', { hasText: 'Ann' }).first().waitFor();
  assert.match(await py.say('[str(each) for each in people["Ann"].selection]'), /^\['\d+:1'\]$/);
  await py.say('world.set_presence(selection=["house"], locks=["house"])');
  assert.match(await robo.call('info', {}), /Pia[^}]*locked[^}]*3:1/);
  assert.match(
    await robo.call('edit', { label: 'Move the well', edits: [{ op: 'set_field', entity: 'well', field: 'Transform.position.x', value: 20 }] }),
    /applied/,
  );
  for (const editor of [ann, bob]) {
    await mark(editor, 'house', 'Pia', '.is-holding').waitFor();
    await mark(editor, 'well', 'Robo').waitFor();
  }
  await ann.picture('people');
  assert.match(await robo.call('edit', { edits: [{ op: 'rename', entity: 'house', name: 'hut' }] }), /Pia is working on/);

  // A click goes where another one looks from.
  await people(ann).getByRole('button', { name: 'Bob' }).click();
  await until('Bob sees Ann at his place', async () => {
    const said = await py.say('[list(people[name].camera.position) for name in ("Ann", "Bob")]');
    const [one, two] = JSON.parse(said) as number[][];
    return one.every((each, i) => Math.abs(each - two[i]) < 0.1);
  });

  // What Ann drags is hers: others see her name, and are asked before they change it.
  const number = ann.box(transform, 'position x');
  const box = (await number.boundingBox())!;
  await ann.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await ann.page.mouse.down();
  await ann.page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2, { steps: 4 });
  await mark(bob, 'gate', 'Ann', '.is-holding').waitFor();
  await bob.page.locator('.viewport-person.is-moving', { hasText: 'Ann is moving this' }).waitFor();
  await bob.select('gate');
  await bob.page.locator('.held-by-other', { hasText: 'Ann is moving gate' }).waitFor();
  await bob.page.keyboard.press('Delete');
  const notice = bob.page.locator('.notice', { hasText: 'Ann is moving gate. Nothing was changed.' });
  await notice.getByRole('button', { name: 'Change it anyway' }).waitFor();
  await bob.picture('people-held');
  assert.match(await py.say('world.set_presence(locks=["gate"])'), /Entity/);
  assert.match(await robo.call('edit', { edits: [{ op: 'rename', entity: 'gate', name: 'door' }] }), /Ann is working on/);
  await ann.page.mouse.up();
  await mark(bob, 'gate', 'Ann', '.is-holding').waitFor({ state: 'detached' });
  const dragged = await x_of(other, 'gate');
  assert.notEqual(dragged, 3);

  // Each undoes its own edits only.
  await bob.select('tower');
  await bob.type(transform, 'position x', '7');
  await until('Bob has moved it', async () => (await x_of(other, 'tower')) === 7);
  await py.say('world.set_field("house", "Transform.position.x", 11)');
  const places = async (): Promise<number[]> => Promise.all(['tower', 'gate', 'house', 'well'].map((name) => x_of(other, name)));
  assert.deepEqual(await places(), [7, dragged, 11, 20]);
  await robo.call('undo', {});
  assert.deepEqual(await places(), [7, dragged, 11, 9]);
  await py.say('world.undo()');
  assert.deepEqual(await places(), [7, dragged, 6, 9]);
  await ann.page.locator('.tree-list').focus();
  await ann.page.keyboard.press('ControlOrMeta+z');
  await until("Ann's is undone", async () => (await x_of(other, 'gate')) === 3);
  await bob.page.locator('.tree-list').focus();
  await bob.page.keyboard.press('ControlOrMeta+z');
  await until("Bob's is undone", async () => (await x_of(other, 'tower')) === 0);
  assert.deepEqual(await places(), [0, 3, 6, 9]);
});

test('an agent that is told to ignore locks takes a value from a drag in the inspector and in the viewport, and the drag ends', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  await other.create(nil, 'gate', [transform, { position: { x: 1, y: 0, z: 0 } }], [shape, {}]);
  const { token } = JSON.parse(world.run('token', 'create', 'Robo', '--role', 'edit', '--world', world.path, '--json')) as { token: string };
  const robo = new Agent(Program.start(t, ['-m', 'muster.mcp', '--world', world.path], world, token));
  await robo.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {} });
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const edit = async (value: number, ignore_locks: boolean): Promise<string> =>
    robo.call('edit', { ignore_locks, edits: [{ op: 'set_field', entity: 'gate', field: 'Transform.position.x', value }] });
  /** Grabs the gate and pulls; the agent is refused, then insists. */
  const pull = async (x: number, y: number, value: number): Promise<void> => {
    const before = await x_of(other, 'gate');
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 20, y, { steps: 3 });
    await until('it moves', async () => (await x_of(other, 'gate')) !== before);
    assert.match(await edit(value, false), /is working on .* has locked it/);
    assert.match(await edit(value, true), /applied/);
    await page.mouse.move(x + 40, y, { steps: 4 });
    const notice = page.locator('.notice', { hasText: 'somebody else has changed it' });
    await notice.waitFor();
    await page.mouse.move(x + 60, y, { steps: 4 });
    await page.mouse.up();
    await until("the agent's value is shown", async () => Number(await editor.box(transform, 'position x').inputValue()) === value);
    await notice.waitFor({ state: 'detached' });
    assert.equal(await x_of(other, 'gate'), value);
  };
  await editor.select('gate');
  const box = (await editor.box(transform, 'position x').boundingBox())!;
  await pull(box.x + box.width - 10, box.y + box.height / 2, 500);
  await page.keyboard.press('Escape');
  await editor.select('gate');
  await page.keyboard.press('1');
  await page.keyboard.press('f');
  await page.locator('.viewport-status', { hasText: 'at rest' }).waitFor();
  const canvas = (await page.locator('.viewport-canvas').boundingBox())!;
  await pull(canvas.x + canvas.width / 2 + 80, canvas.y + canvas.height / 2, 700);
});

test('an address of an entity without a view looks at the entity', async (t) => {
  const world = await World.serve(t, ['--schema', given('MUSTER_SCENE')]);
  const other = await world.connect();
  for (const x of [0, 500]) await other.create(nil, `box-${x}`, [transform, { position: { x, y: 0, z: 0 } }], [shape, {}]);
  const far = await other.entity('box-500');
  const editor = await Editor.open(t, world, undefined, `${world.url}&entity=${far.index}:${far.generation}`);
  assert.equal(await editor.row('box-500').getAttribute('aria-selected'), 'true');
  let camera: readonly number[] = [];
  await other.follow_presence((people) => {
    for (const each of people) if (each.kind === 'editor' && each.camera.length === 6) camera = [...each.camera];
  });
  await until('the camera looks at it', () => Math.abs(camera[3] - 500) < 1 && Math.abs(camera[0] - 500) < 20);
});
