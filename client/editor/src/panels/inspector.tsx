// The inspector: the components of the selection, with fields as the schema describes them.
import { useSignal } from '@preact/signals';
import { id_text, is_nil } from 'muster-client';
import type { Entity, StructValue, TypeDescriptor } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { clipboard_text, pasted_value } from '../model/clipboard.js';
import { inspected_max } from '../model/model.js';
import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import { root_order } from '../model/root_order.js';
import { run_changed } from '../model/run.js';
import { spawned_from } from '../templates/template.js';
import { default_value, last_name, with_texts } from '../model/values.js';
import { FieldRows, label_column } from '../parts/field_row.js';
import { FilterField } from '../parts/filter_field.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { anchor_of } from '../parts/popover.js';
import type { Anchor } from '../parts/popover.js';
import { DraftContext, useDraft } from '../parts/use_draft.js';
import type { DraftKeeper } from '../parts/use_draft.js';
import { Chooser, type_choices } from './chooser.js';
import { usePage } from './context.js';
import { component_sink } from './component_sink.js';
import { copy_text, pasted_text } from './copying.js';
import { template_items } from '../templates/template_actions.js';
import { TemplateLine } from '../templates/template_line.js';
import { HeldValues } from './held_values.js';
import { pull_labels, release_labels } from './label_width.js';
import { HeldByOthers } from '../people/people_list.js';

/** Number of fields above which the inspector offers a search. */
const many_fields = 24;
/** Already shown as name and place in the tree, and in the head. */
const shown_elsewhere = new Set(['muster.Name', 'muster.ChildOf', spawned_from, root_order]);

export function Inspector(): JSX.Element {
  const { model, ui } = usePage();
  const { labels } = ui.sizes.value;
  const entities = model.selection.entities.value;
  const drafts = useMemo<DraftKeeper>(
    () => ({
      epoch: model.run.epoch,
      dropped: () => {
        const why = run_changed(model.run.playing.peek());
        model.edits.say_dropped(`What you were typing was dropped, because ${why}.`);
      },
    }),
    [model],
  );
  return (
    <section class="panel inspector" aria-label="Inspector">
      <DraftContext.Provider value={drafts}>
        <div
          class={`inspector-body ${labels > 0 ? 'has-pulled-labels' : ''}`}
          style={{ '--pulled': `${labels}px` }}
          onPointerDown={(event) => pull_labels(event, ui)}
          onDblClick={(event) => release_labels(event, ui)}
        >
          {entities.length === 0 ? <NothingSelected /> : <Selected key="selected" entities={entities} />}
        </div>
      </DraftContext.Provider>
    </section>
  );
}

function NothingSelected(): JSX.Element {
  const { model } = usePage();
  const gone = model.gone.value;
  if (gone.length > 0)
    return (
      <div class="gone" role="status">
        {gone.slice(0, 20).map(({ entity, name, how }) => (
          <p key={id_text(entity)}>
            <s>{name || '#' + id_text(entity)}</s>
            <span>{how}</span>
          </p>
        ))}
        {gone.length > 20 && <p>and {counted(gone.length - 20)} more</p>}
      </div>
    );
  if (!model.is_there.value) return <></>;
  return (
    <div class="nothing">
      <Icon name="frame" size={20} />
      <p>Nothing selected</p>
      <p class="nothing-how">
        Click an entity, or press <kbd>/</kbd> to search.
      </p>
    </div>
  );
}

function Selected({ entities }: { entities: readonly Entity[] }): JSX.Element {
  const { model } = usePage();
  void model.inspected_version.value;
  void model.edits.writes.version.value;
  const is_late = useLate(model.is_inspecting.value, 150);
  const shown = entities.slice(-inspected_max);
  const records = shown.map((entity) => model.inspected.get(entity)).filter((record) => record !== undefined);
  // Components with values come first, because a tag shows little.
  const tag_rank = (name: string): number => (model.types.value.get(name)?.tag ? 1 : 0);
  const counts = new Map<string, number>();
  for (const record of records)
    for (const name of Object.keys(record.components)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const names = [...counts.keys()]
    .filter((name) => !shown_elsewhere.has(name))
    .sort((a, b) => tag_rank(a) - tag_rank(b) || by_importance(a, b));
  const common = names.filter((name) => counts.get(name) === records.length);
  const others = names.filter((name) => counts.get(name) !== records.length);
  return (
    <>
      <Head entities={entities} />
      <HeldByOthers entities={entities} />
      {records.length === 0 && is_late && (
        <div class="skeleton" aria-label="Loading">
          {[60, 80, 72, 50, 66].map((width, i) => (
            <i key={i} style={{ width: `${width}%` }} />
          ))}
        </div>
      )}
      {common.map((name) => {
        const type = model.types.value.get(name);
        return (
          type && (
            <ComponentPart
              key={name}
              type={type}
              entities={records.map((record) => record.entity)}
              values={records.map((record) => model.edits.writes.over(record.entity, name, record.components[name]))}
            />
          )
        );
      })}
      {others.length > 0 && (
        <div class="others">
          {others.map((name) => (
            <button
              key={name}
              class="other"
              title="Select those that have it"
              onClick={() =>
                model.selection.set(records.filter((record) => record.components[name]).map((record) => record.entity))
              }
            >
              <span>{last_name(name)}</span>
              <span class="other-count">
                {counted(counts.get(name)!)} of {counted(records.length)} have it
              </span>
            </button>
          ))}
        </div>
      )}
      {entities.length === 1 && <HeldValues entity={entities[0]} />}
      {records.length > 0 && <AddComponent entities={records.map((record) => record.entity)} has={new Set(common)} />}
    </>
  );
}

/** Where a thing is comes first, what it looks like next, then the game's own, by name. */
const first = ['scene.Transform', 'scene.Shape', 'scene.Color', 'scene.Material', 'scene.MeshReference'];
function by_importance(a: string, b: string): number {
  const rank = (name: string): number => {
    const at = first.indexOf(name);
    return at >= 0 ? at : first.length;
  };
  return rank(a) - rank(b) || (last_name(a) < last_name(b) ? -1 : 1);
}

export function useLate(is_so: boolean, ms: number): boolean {
  const [is_late, set_late] = useState(false);
  useEffect(() => {
    if (!is_so) {
      set_late(false);
      return undefined;
    }
    const timer = setTimeout(() => set_late(true), ms);
    return () => clearTimeout(timer);
  }, [is_so]);
  return is_late;
}

function Head({ entities }: { entities: readonly Entity[] }): JSX.Element {
  const { model } = usePage();
  void model.structure_version.value;
  const draft = useDraft();
  if (entities.length > 1)
    return (
      <header class="about">
        <h2 class="about-many">{counted(entities.length)} entities</h2>
        <p class="about-line">
          {entities.length > inspected_max ? `Shows the values of the last ${counted(inspected_max)}. ` : ''}Your
          changes apply to all of them.
        </p>
      </header>
    );
  const entity = entities[0];
  const record = model.world.get(entity);
  const name = record?.name ?? '';
  const above: Entity[] = [];
  for (let at = record?.parent; at && !is_nil(at); at = model.world.get(at)?.parent) above.unshift(at);
  return (
    <header class="about">
      <span class={`field text about-name ${model.may_edit.value ? '' : 'is-fixed'}`}>
        <input
          type="text"
          aria-label="Name"
          spellcheck={false}
          autocomplete="off"
          placeholder="no name"
          readOnly={!model.may_edit.value}
          value={draft.text ?? name}
          onFocus={() => draft.begin(name)}
          onInput={(event) => draft.type(event.currentTarget.value)}
          onBlur={() => {
            const typed = draft.text;
            draft.end();
            if (typed !== null && typed !== name) void model.edits.rename(entity, typed);
          }}
          onKeyDown={(event) => {
            const input = event.currentTarget;
            if (event.key === 'Enter') input.blur();
            if (event.key === 'Escape') {
              draft.end();
              input.blur();
            }
          }}
        />
      </span>
      <p class="about-line">
        <span class="about-path">
          {above.length === 0 && <span class="is-faint">root</span>}
          {above.map((each) => (
            <span key={id_text(each)}>
              <button class="link" onClick={() => model.selection.set([each])}>
                {model.label(each)}
              </button>
              <span class="is-faint">›</span>
            </span>
          ))}
        </span>
        <button
          class="about-id"
          title="Copy the id"
          aria-label={`Copy the id ${id_text(entity)}`}
          onClick={() => void copy_text(id_text(entity))}
        >
          {id_text(entity)}
        </button>
      </p>
      <TemplateLine entity={entity} />
    </header>
  );
}

function ComponentPart(props: {
  type: TypeDescriptor;
  entities: readonly Entity[];
  values: readonly StructValue[];
}): JSX.Element {
  const { type, entities, values } = props;
  const { model, ui } = usePage();
  const is_open = !ui.closed.value.has(type.name);
  const wanted = useSignal('');
  const menu = useSignal<Anchor | null>(null);
  const writers = (model.handlers.writers.value.get(type.name) ?? []).filter((writer) => writer.enabled);
  const sink = component_sink(model, ui, type, entities);
  const space = type.name.slice(0, type.name.lastIndexOf('.'));
  return (
    <section class="component" aria-label={type.name}>
      <header class="component-head">
        <button
          class="component-title"
          aria-expanded={is_open}
          onClick={() => ui.toggle_component(type.name)}
          title={type.doc ? `${type.name}: ${type.doc}` : type.name}
        >
          <Icon name={is_open ? 'chevron-down' : 'chevron-right'} size={14} />
          <span class="component-name">{last_name(type.name)}</span>
          <span class="component-space">{space}</span>
        </button>
        {writers.length > 0 && (
          <span
            class="written"
            title={`A handler writes this while the world runs:\n${writers.map((writer) => `${writer.handler || 'an unnamed handler'} on ${writer.message}`).join('\n')}`}
          >
            <Icon name="bot" size={14} />
            <span class="written-by">
              {writers.length === 1 ? writers[0].handler || 'a handler' : `${writers.length} handlers`}
            </span>
          </span>
        )}
        {type.remote === 'none' && (
          <span class="written" title="Only the world writes this">
            <Icon name="lock" size={14} />
          </span>
        )}
        <button
          class="in-head"
          aria-label={`More for ${last_name(type.name)}`}
          aria-haspopup="menu"
          onClick={(event) => (menu.value = anchor_of(event.currentTarget))}
        >
          <Icon name="more" size={14} />
        </button>
      </header>
      {is_open && (
        <div class="component-body" style={label_column(type)}>
          {type.fields.length > many_fields && (
            <FilterField
              value={wanted}
              label="Find a field"
              placeholder={`Find one of ${type.fields.length} fields`}
              class="field-search"
            />
          )}
          {type.tag ? (
            <p class="tag-note">A tag has no values.</p>
          ) : (
            <FieldRows type={type} path="" values={values} sink={sink} depth={0} wanted={wanted.value} />
          )}
        </div>
      )}
      {menu.value && (
        <Menu
          at={menu.value}
          label={last_name(type.name)}
          close={() => (menu.value = null)}
          groups={[
            [
              {
                title: 'Reset to defaults',
                icon: 'reset',
                disabled: sink.read_only !== null || type.tag,
                run: () => void model.edits.set_component(entities, type.name, default_value(type)),
              },
              {
                title: 'Copy values',
                icon: 'copy',
                disabled: type.tag,
                run: () => copy_values(model, type, values[values.length - 1]),
              },
              {
                title: 'Paste values',
                icon: 'clipboard',
                disabled: sink.read_only !== null || type.tag,
                run: () => void paste_values(model, type, entities),
              },
            ],
            template_items(model, entities, type, ''),
            sink.keep
              ? [
                  {
                    title: 'Apply to level',
                    icon: 'keep',
                    disabled: !model.may_edit.value,
                    run: () => sink.keep!.apply(''),
                  },
                ]
              : [],
            [
              {
                title: `Remove ${last_name(type.name)}`,
                icon: 'trash',
                danger: true,
                disabled: sink.read_only !== null,
                run: () => void model.edits.remove_component(entities, type.name),
              },
            ],
          ]}
        />
      )}
    </section>
  );
}

function copy_values(model: Model, type: TypeDescriptor, value: StructValue): void {
  const texts = with_texts(type, value, (hash) => model.text(hash));
  void copy_text(clipboard_text(type, texts, model.world_here()));
}
async function paste_values(model: Model, type: TypeDescriptor, entities: readonly Entity[]): Promise<void> {
  try {
    const value = pasted_value(type, await pasted_text(), model.world_here());
    await model.edits.set_component(entities, type.name, value);
  } catch (error) {
    model.notices.say('problem', (error as Error).message);
  }
}

function AddComponent({ entities, has }: { entities: readonly Entity[]; has: ReadonlySet<string> }): JSX.Element {
  const { model } = usePage();
  const at = useSignal<Anchor | null>(null);
  const types = (): TypeDescriptor[] =>
    [...model.types.value.values()]
      .filter(
        (type) =>
          type.role === 'component' && type.remote !== 'none' && !has.has(type.name) && !shown_elsewhere.has(type.name),
      )
      .sort((a, b) => by_importance(a.name, b.name));
  return (
    <div class="add-component">
      <button
        class="button is-wide"
        disabled={!model.may_edit.value}
        onClick={(event) => (at.value = anchor_of(event.currentTarget))}
      >
        <Icon name="plus" size={14} /> Add a component
      </button>
      {at.value && (
        <Chooser
          at={at.value}
          label="Add a component"
          choices={type_choices(types())}
          close={() => (at.value = null)}
          chosen={(name) => {
            const type = model.types.peek().get(name);
            if (type) void model.edits.add_component(entities, type);
          }}
        />
      )}
    </div>
  );
}
