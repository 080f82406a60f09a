// A form for writing and sending any message.
import { useSignal } from '@preact/signals';
import { ClientError, rights } from 'muster-client';
import type { StructValue, TypeDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

import { counted } from '../model/numbers.js';
import { last_name, with_path } from '../model/values.js';
import { FieldRows, fresh_table, label_column } from '../parts/field_row.js';
import { Icon } from '../parts/icon.js';
import { anchor_of } from '../parts/popover.js';
import type { Anchor } from '../parts/popover.js';
import { Wrong } from '../parts/sink.js';
import type { ValueSink } from '../parts/sink.js';
import { Chooser, type_choices } from './chooser.js';
import { usePage } from './context.js';

/**
 * Returns true for messages that a user may send. Excludes those with ids or row sets, which are
 * sent by commands of the page.
 */
function can_be_sent(type: TypeDescriptor, role: number): boolean {
  const level = rights.indexOf(type.remote);
  return /message$/.test(type.role) && level > 0 && level <= role && !/^muster\./.test(type.name);
}

export function SendForm(): JSX.Element {
  const { model, ui } = usePage();
  const choosing = useSignal<Anchor | null>(null);
  const value = useSignal<StructValue>({});
  const wrong = useSignal<{ path: string; sentence: string } | null>(null);
  const outcome = useSignal<{ is_good: boolean; text: string } | null>(null);
  const to_world = useSignal(false);
  const type = model.types.value.get(ui.message_type.value);
  const types = [...model.types.value.values()]
    .filter((each) => can_be_sent(each, model.role.value))
    .sort((a, b) => (last_name(a.name) < last_name(b.name) ? -1 : 1));
  useLayoutEffect(() => {
    value.value = type ? fresh_table(type) : {};
    wrong.value = null;
    outcome.value = null;
  }, [type?.name]);
  const entities = model.selection.entities.value;
  const is_world = to_world.value || entities.length === 0;
  const sink: ValueSink = {
    read_only: model.client.value ? null : model.why_not_edit(),
    is_live: false,
    commit: (path, given) => {
      if (given instanceof Wrong) {
        wrong.value = { path, sentence: given.sentence };
        return;
      }
      wrong.value = null;
      const part = typeof given === 'function' ? (given as (i: number) => unknown)(0) : given;
      value.value = with_path(value.peek(), path, part) as StructValue;
    },
    drag: (path) => {
      const before = value.peek();
      return {
        set: (at, given) => sink.commit(at || path, given),
        commit: () => {},
        cancel: () => (value.value = before),
      };
    },
    angles: (path) => ({
      shown: (rotation) => model.angles.shown(`${type?.name}|${path}`, rotation),
      typed: (euler, instead_of) => model.angles.typed(`${type?.name}|${path}`, euler, instead_of),
    }),
    refusal: (path) =>
      wrong.value?.path === path ? { sentence: wrong.value.sentence, mine: undefined, theirs: undefined } : undefined,
    forget: () => (wrong.value = null),
    text: (hash) => model.text(hash),
    label: (entity) => (model.world.get(entity) ? model.label(entity) : undefined),
    pick_entity: (at, chosen) => (ui.pick.value = { at: anchor_of(at), title: 'Choose an entity', chosen }),
    click_entity: (chosen) => (model.picking.value = chosen),
    show_entity: (entity) => model.selection.set([entity]),
  };
  const send = async (): Promise<void> => {
    const client = model.client.peek();
    if (!client || !type) return;
    outcome.value = null;
    try {
      const target = is_world ? 'world' : [...model.selection.entities.peek()];
      const ack = await client.push(target.length === 1 ? (target[0] as never) : target, type, value.peek());
      const parts = [`input ${ack.sequence}`];
      if (!is_world || ack.handled > 0) parts.push(`${counted(ack.handled)} handled`);
      if (ack.unhandled > 0) parts.push(`${counted(ack.unhandled)} without a handler`);
      if (ack.dead > 0) parts.push(`${counted(ack.dead)} destroyed`);
      outcome.value = { is_good: true, text: parts.join(', ') };
    } catch (error) {
      if (error instanceof ClientError) model.messages.was_refused(error);
      outcome.value = { is_good: false, text: (error as Error).message };
      model.log.problem(`${type.name}: ${(error as Error).message}`);
    }
  };
  return (
    <form
      class="send"
      onSubmit={(event) => {
        event.preventDefault();
        // Buttons of fields also submit the form.
        if ((event.submitter as HTMLElement | null)?.classList.contains('is-primary') !== true) return;
        (document.activeElement as HTMLElement | null)?.blur();
        void send();
      }}
    >
      <div class="send-head">
        <button
          type="button"
          class="field select-like"
          aria-haspopup="listbox"
          onClick={(event) => (choosing.value = anchor_of(event.currentTarget))}
        >
          <span>{type ? last_name(type.name) : 'Choose a message'}</span>
          {type && <span class="is-faint">{type.name.slice(0, type.name.lastIndexOf('.'))}</span>}
          <Icon name="chevron-down" size={12} />
        </button>
        <span class="send-to">to</span>
        <span class="segments" role="group" aria-label="Target">
          <button
            type="button"
            class="segment"
            aria-pressed={!is_world}
            disabled={entities.length === 0}
            onClick={() => (to_world.value = false)}
          >
            {entities.length === 1
              ? model.label(entities[0])
              : entities.length === 0
                ? 'selection'
                : `${counted(entities.length)} entities`}
          </button>
          <button type="button" class="segment" aria-pressed={is_world} onClick={() => (to_world.value = true)}>
            the world
          </button>
        </span>
        <button class="button is-primary" type="submit" disabled={!type || !model.client.value || wrong.value !== null}>
          <Icon name="send" size={14} /> Send
        </button>
        {outcome.value && (
          <span class={`send-outcome ${outcome.value.is_good ? 'is-good' : 'is-bad'}`} role="status">
            {outcome.value.text}
          </span>
        )}
      </div>
      <div class="send-fields" style={type ? label_column(type) : undefined}>
        {type ? (
          <>
            {type.doc && <p class="send-doc">{type.doc}</p>}
            <FieldRows type={type} path="" values={[value.value]} sink={sink} depth={0} />
          </>
        ) : (
          <p class="empty">
            {types.length > 0
              ? 'Choose a message to fill in its fields.'
              : 'This world has no messages that this session may send.'}
          </p>
        )}
      </div>
      {choosing.value && (
        <Chooser
          at={choosing.value}
          label="Choose a message"
          choices={type_choices(types)}
          close={() => (choosing.value = null)}
          chosen={(name) => (ui.message_type.value = name)}
        />
      )}
    </form>
  );
}
