import type { JSX } from 'preact';

import { counted } from '../model/numbers.js';
import { usePage } from './context.js';

const kinds: Record<string, [string, string]> = {
  connecting: ['is-waiting', 'Connecting'],
  live: ['is-live', 'Live'],
  behind: ['is-waiting', 'Behind'],
  away: ['is-waiting', 'Line is cut'],
  offline: ['is-off', 'Offline'],
  reconnecting: ['is-waiting', 'Reconnecting'],
  refused: ['is-off', 'Refused'],
};
const roles = ['no rights', 'view only', 'may edit', 'may edit and control', 'admin'];

export function StatusBar(): JSX.Element {
  const { model } = usePage();
  void model.structure_version.value;
  const link = model.link.value;
  const status = model.keeper.status.value;
  const [state, text] = kinds[link.kind];
  const is_connected = model.client.value !== null;
  const pending = model.edits.pending.value.length;
  const selected = model.selection.entities.value.length;
  return (
    <footer class="status-bar">
      <span class={`status-link ${state}`} role="status">
        <i class="dot" />
        {text}
      </span>
      {is_connected && status && (
        <>
          <span class="status-part" title="Round trip to the server">
            ping <b>{Math.max(1, Math.round(status.latency_ms))}</b> ms
          </span>
          {status.hz > 0 && !model.clock.paused.value && (
            <span class="status-part" title={`Ticks per second; the target is ${status.hz}`}>
              <b>{status.ticks_per_second.toFixed(status.ticks_per_second < 9.95 ? 1 : 0)}</b> ticks/s
            </span>
          )}
          <span class="status-part" title="Inputs applied since the world was created">
            input <b>{counted(status.sequence)}</b>
          </span>
        </>
      )}
      {pending > 0 && (
        <span class="status-part is-pending">
          <b>{pending}</b> not acknowledged yet
        </span>
      )}
      <span class="status-space" />
      {model.seen.is_hiding && (
        <button class="status-part link" onClick={() => model.seen.show_all()}>
          {model.seen.is_isolating ? 'Only a part is shown' : 'Some are hidden'}: show everything
        </button>
      )}
      {selected > 0 && (
        <span class="status-part">
          <b>{counted(selected)}</b> selected
        </span>
      )}
      <span class="status-part">
        <b>{counted(model.world.size)}</b> {model.world.size === 1 ? 'entity' : 'entities'}
      </span>
      {is_connected && <span class="status-part">{roles[model.role.value]}</span>}
      <span class="status-part status-server">{status?.server ?? ''}</span>
    </footer>
  );
}
