// The connection, the clock, messages and the file: what is true of them is what the page says.
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';

import { nil, session } from 'muster-client';

import { component, Editor, given, test, until, World } from './page.js';

const schema = ['--schema', given('MUSTER_SCHEMA')];
const health = 'golden.Health';

test('a server that is killed: edits are blocked and it says so; one that comes back is live again, with the saved world', async (t) => {
  // What was not saved goes with it.
  const never_resumes = ['--limit', 'resume_ns_max=1000000'];
  const world = await World.serve(t, [...schema, ...never_resumes, '--durability', 'checkpoint', '--autosave', '0']);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  await page.keyboard.press('ControlOrMeta+s');
  await page.getByText('Saved the running state to town.muster').waitFor();
  await page.getByText(/^File saved just now/).waitFor();
  await editor.type(health, 'value', '70');
  await until('it is edited', async () => (await component(other, orc, health)).value === 70);

  world.signal('SIGSTOP');
  const box = editor.box(health, 'value');
  await box.click();
  await box.fill('71');
  await box.press('Enter');
  await page.getByText('not acknowledged yet').waitFor();
  await page.getByText('Behind', { exact: true }).waitFor();
  await world.kill();
  await page.getByText('Not connected.').waitFor();
  await page.getByText('Set value of orc', { exact: true }).waitFor();
  assert.equal(await box.getAttribute('readonly'), '');
  await editor.picture('offline');

  await world.start(...never_resumes);
  await page
    .getByText('Retry now')
    .click({ timeout: 1000 })
    .catch(() => {}); // it may have tried by itself
  await editor.live();
  await until('the saved value is shown', async () => (await box.inputValue()) === '50');
  await page.getByRole('button', { name: 'Send again' }).click();
  const again = await world.connect();
  await until(
    'the edit is sent again',
    async () => (await component(again, await again.entity('orc'), health)).value === 71,
  );
  await until('the band is gone', async () => (await page.locator('.band').count()) === 0);
});

test('a page whose server is killed and started again goes on where it was: its edits are applied once, and its form stays', async (t) => {
  const long = ['--limit', 'resume_ns_max=600000000000']; // on a slow machine, too
  const world = await World.serve(t, [...schema, ...long]);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  await other.wait_durable(await other.create(nil, 'elf').then((elf) => other.rename(elf, 'other elf')));
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  const box = editor.box(health, 'value');
  await world.kill();
  await page.getByText('The line to the server is cut.').waitFor();
  await page.locator('.status-link', { hasText: 'Line is cut' }).waitFor();
  await editor.type(health, 'value', '71');
  await page.getByText('not acknowledged yet').waitFor();
  assert.equal(await box.inputValue(), '71');
  const name = page.getByRole('textbox', { name: 'Name', exact: true });
  await name.click();
  await name.fill('half a na');
  await editor.picture('cut');

  await world.start(...long);
  await editor.live();
  assert.equal(await name.inputValue(), 'half a na');
  await name.press('End');
  await name.pressSequentially('me');
  await name.press('Enter');
  const again = await world.connect();
  await until('both edits are there', async () => {
    const { about, components } = await again.show(orc);
    return about.name === 'half a name' && components[health]?.value === 71;
  });
  await until('nothing is open', async () => (await page.locator('.band, .notice').count()) === 0);
  assert.equal(await editor.row('half a name').getAttribute('aria-selected'), 'true');
  await page.keyboard.press('Escape');
  await page.locator('.tree-list').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await page.keyboard.press('ControlOrMeta+z');
  await until('each was one step', async () => {
    const { about, components } = await again.show(orc);
    return about.name === 'orc' && components[health]?.value === 50;
  });
});

test('a world whose file was moved away: the page says that edits are refused, why, and where the world was saved', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  await other.create(nil, 'orc', [health, { value: 50 }]);
  await other.ask(session.Save);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const band = page.getByText('Saving has stopped, so edits are refused.');
  await editor.select('orc');
  assert.equal(await band.count(), 0);
  renameSync(world.path, `${world.path}-elsewhere`);
  await band.waitFor();
  await page.getByText(/was moved or deleted.*rescued/).waitFor();
  await editor.picture('moved');
  const box = editor.box(health, 'value');
  await box.click();
  await box.fill('71');
  await box.press('Enter');
  await until('the refused value is gone', async () => (await box.inputValue()) === '50');

  // The reason stands once, and all else points to it. Nothing says that edits work.
  const refused = page.locator('.refused');
  await refused.getByText('for the reason at the top of the page').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ControlOrMeta+s');
  await page.locator('.notice', { hasText: 'Not saved: the reason is at the top of the page.' }).waitFor();
  await page.getByRole('tab', { name: 'Log' }).click();
  await page.locator('.log-line', { hasText: 'value of orc: edits are refused' }).waitFor();
  const all = await page.locator('body').innerText();
  assert.equal(all.split('was moved or deleted').length - 1, 1, all);
  assert.match(all, /edits are refused\.\s+\/[^:]*town\.muster was moved/);
  assert.doesNotMatch(all, /Town\.muster|Live: edits change|File saved/);
  await page.locator('.truth', { hasText: 'Saving has stopped; edits are refused' }).waitFor();
});

test('a wrong token is told in the words of the server, and not tried again', async (t) => {
  const world = await World.serve(t, schema);
  const editor = await Editor.open(t, world);
  await editor.page.goto('about:blank');
  await editor.page.goto(world.url.replace(/token=.*/, 'token=something-else-altogether'));
  await editor.page.getByText('the token is not valid here').waitFor();
  await editor.page.getByText('Open the address that muster-server prints').waitFor();
});

test('messages of everybody are listed as they come, and any message is written in a form and sent', async (t) => {
  const world = await World.serve(t, schema);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await other.push(orc, 'golden.Damage', { amount: 7 });
  const log = page.getByRole('log', { name: 'Messages' });
  await log.getByText('Damage', { exact: true }).waitFor();
  await log.getByText('amount 7').waitFor();

  const heard: unknown[] = [];
  const damage = other.types.get('golden.Damage').id;
  const chat = other.types.get('golden.Chat').id;
  await other.follow(
    { world: true, inputs: true, input_types: [damage, chat] },
    { frame: ({ batch, is_event }) => is_event && heard.push([batch.type.name, batch.message(0)]) },
  );
  await editor.select('orc');
  await page.getByRole('tab', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Choose a message' }).click();
  await page.keyboard.type('damage');
  await page.keyboard.press('Enter');
  const form = page.locator('.send');
  await form.getByRole('textbox', { name: 'amount' }).fill('12');
  await page.keyboard.press('Enter');
  await form.getByRole('button', { name: 'Send' }).click();
  await form.getByText(/without a handler/).waitFor();
  await until('it is heard', () => heard.length === 1);
  assert.deepEqual(heard[0], ['golden.Damage', { amount: 12, from: nil }]);

  await form.getByRole('button', { name: /Damage/ }).click();
  await page.keyboard.type('chat');
  await page.keyboard.press('Enter');
  await form.locator('[data-path="text"]').getByRole('textbox').fill('well met');
  await form.locator('[data-path="words"]').getByRole('button', { name: 'Add to words' }).click();
  await form.locator('[data-path="words[0]"]').getByRole('textbox').fill('one');
  await form.getByRole('button', { name: 'Send' }).click();
  await until('the table is heard', () => heard.length > 1);
  assert.equal(
    heard.length,
    2,
    JSON.stringify(heard, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each)),
  );
  const [name, value] = heard[1] as [string, Record<string, unknown>];
  assert.deepEqual([name, value.text, value.words, value.volume], ['golden.Chat', 'well met', ['one'], 1.5]);
  await page.getByRole('tab', { name: 'Messages' }).click();
  await page.getByRole('searchbox', { name: 'Filter messages' }).fill('chat');
  await log.getByText('Chat', { exact: true }).waitFor();
  assert.equal(await log.getByText('Damage', { exact: true }).count(), 0);
});

test('what handlers post and timers deliver is listed where it is asked for, and told from inputs', async (t) => {
  const world = await World.serve(t, [...schema, '--hz', '20']);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  const log = page.getByRole('log', { name: 'Messages' });
  const lines = log.locator('.message', { hasText: 'Damage' });
  const send = async (amount: number): Promise<void> => {
    const { clock_ns } = await other.ask(session.GetInfo);
    await other.push_at(clock_ns + 100_000_000n, orc, 'golden.Damage', { amount });
  };
  const says = (amount: number) => lines.filter({ hasText: `amount ${amount}` });
  await send(11);
  await other.push(orc, 'golden.Damage', { amount: 12 });
  await says(12).waitFor();
  const due = (await other.ask(session.GetInfo)).clock_ns + 300_000_000n;
  await until('the timer is over', async () => (await other.ask(session.GetInfo)).clock_ns > due);
  // That it is to come was an input; that it came was none.
  assert.equal(await says(11).count(), 1);
  assert.match(await says(11).innerText(), /in 0(\.\d+)? s: amount 11/);

  const toggle = page.getByRole('button', { name: 'Show messages of handlers and timers' });
  await toggle.click();
  assert.equal(await toggle.getAttribute('aria-pressed'), 'true');
  // When the change is under way nobody is told of: a message that is sent again is told of once it is done.
  let amount = 20;
  await until('what a timer delivers is told', async () => {
    await send(++amount);
    return (await log.locator('.message.is-pushed').count()) > 0;
  });
  assert.equal(await log.locator('.message.is-pushed .message-sender').first().innerText(), 'pushed');
  await other.push(orc, 'golden.Damage', { amount: 13 });
  await says(13).waitFor();
  assert.doesNotMatch((await says(13).getAttribute('class'))!, /is-pushed/);
});

test('the clock is paused, stepped and played; edits are applied meanwhile', async (t) => {
  const world = await World.serve(t, [...schema, '--hz', '20']);
  const other = await world.connect();
  const orc = await other.create(nil, 'orc', [health, { value: 50 }]);
  const editor = await Editor.open(t, world);
  const { page } = editor;
  await editor.select('orc');
  const state = page.locator('.clock-state');
  await until('it runs', async () => (await state.innerText()) === 'running');
  await page.locator('.tree-list').focus();
  await page.keyboard.press('Space');
  await until('it is paused', async () => (await state.innerText()) === 'paused');
  const clock = async (): Promise<bigint> => (await other.ask(session.GetInfo)).clock_ns;
  const stood = await until('others see it stand', async () => {
    const before = await clock();
    return before === (await clock()) ? before : null;
  });
  await page.keyboard.press('.');
  await until('one tick is made', async () => (await clock()) === stood + 50_000_000n);
  await editor.type(health, 'value', '70');
  await until('the edit is applied', async () => (await component(other, orc, health)).value === 70);
  assert.equal(await clock(), stood + 50_000_000n);
  await page.getByRole('button', { name: 'Resume the clock' }).click();
  await until('it runs again', async () => (await clock()) > stood + 50_000_000n);
});
