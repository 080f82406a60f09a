// The page that lists a host's worlds.
const at = (id) => document.getElementById(id);
const kept = 'muster.host.token';
let token = new URLSearchParams(location.hash.slice(1)).get('token') ?? sessionStorage.getItem(kept) ?? '';
if (location.hash) history.replaceState(null, '', location.pathname);
let timer = 0;

function note(text, wrong = false) {
  at('note').textContent = text;
  at('note').className = wrong ? 'wrong' : '';
}

async function ask(method, path) {
  const answer = await fetch(path, { method, headers: { Authorization: `Bearer ${token}` } });
  const text = (await answer.text()).trim();
  if (!answer.ok) throw Object.assign(new Error(text), { status: answer.status });
  return text;
}

/** Does something, says how it went, and shows the list again. */
async function act(doing, method, path) {
  note(`${doing} ...`);
  try {
    await ask(method, path);
    note('');
  } catch (error) {
    note(error.message, true);
  }
  await show();
}

function cell(row, text, name = '') {
  const made = row.insertCell();
  made.textContent = text;
  made.className = name;
  return made;
}

function button(text, label, then) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.setAttribute('aria-label', label);
  made.addEventListener('click', then);
  return made;
}

function size(bytes) {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

function row(world, owner) {
  const made = document.createElement('tr');
  const link = document.createElement('a');
  link.href = `${world.path}#token=${encodeURIComponent(token)}`;
  link.textContent = world.name;
  cell(made, '').append(link);
  const state = cell(made, '');
  const dot = document.createElement('span');
  dot.className = `dot ${world.state}`;
  state.append(dot, world.state);
  if (world.error) {
    const wrong = document.createElement('span');
    wrong.className = 'wrong';
    wrong.textContent = world.error;
    state.append(wrong);
  }
  cell(made, String(world.visitors), 'number');
  cell(made, size(world.bytes), 'number');
  cell(made, new Date(world.changed_s * 1000).toLocaleString());
  const actions = cell(made, '', 'actions');
  if (!owner) return made;
  const path = `/worlds/${encodeURIComponent(world.name)}`;
  if (world.state !== 'asleep')
    actions.append(button('Sleep', `Put ${world.name} to sleep`, () => act('Putting to sleep', 'POST', `${path}/sleep`)));
  actions.append(
    button('Copy', `Copy ${world.name}`, () => {
      const to = prompt(`Name of the copy of ${world.name}`, `${world.name} copy`);
      if (to) act('Copying', 'POST', `${path}/copy/${encodeURIComponent(to)}`);
    }),
    button('Delete', `Delete ${world.name}`, () => {
      const people = world.visitors > 0 ? ` ${world.visitors} visitors are in it.` : '';
      if (confirm(`Delete ${world.name}?${people} It can be restored for some days.`)) act('Deleting', 'DELETE', path);
    }),
  );
  return made;
}

function deleted(world) {
  const made = document.createElement('li');
  const when = new Date(world.deleted_s * 1000).toLocaleString();
  made.append(
    `${world.name}, deleted ${when} `,
    button('Restore', `Restore ${world.name}`, () =>
      act('Restoring', 'POST', `/deleted/${encodeURIComponent(world.id)}/restore`)),
  );
  return made;
}

async function show() {
  clearTimeout(timer);
  at('login').hidden = token !== '';
  at('all').hidden = token === '';
  if (token === '') return at('token').focus();
  try {
    const all = JSON.parse(await ask('GET', '/worlds'));
    sessionStorage.setItem(kept, token);
    const held = document.activeElement?.getAttribute?.('aria-label');
    at('worlds').replaceChildren(...all.worlds.map((world) => row(world, all.owner)));
    at('deleted').replaceChildren(...all.deleted.map(deleted));
    at('none').hidden = all.worlds.length > 0;
    at('create').hidden = !all.owner;
    at('bin').hidden = all.deleted.length === 0;
    if (held) document.querySelector(`[aria-label="${CSS.escape(held)}"]`)?.focus();
  } catch (error) {
    if (error.status === 401) {
      token = '';
      sessionStorage.removeItem(kept);
      note('This token opens no world here.', true);
      return show();
    }
    note('The host does not answer; trying again.', true);
  }
  timer = setTimeout(show, 3000);
}

at('login').addEventListener('submit', (event) => {
  event.preventDefault();
  token = at('token').value.trim();
  note('');
  show();
});
at('create').addEventListener('submit', (event) => {
  event.preventDefault();
  act('Creating', 'PUT', `/worlds/${encodeURIComponent(at('name').value)}`);
  at('name').value = '';
});
show();
