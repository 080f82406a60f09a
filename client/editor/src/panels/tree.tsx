// Shows the entities as a tree. Draws only the visible rows.
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { id_text, is_nil, nil, same_entity } from 'muster-client';
import type { Entity, StructValue } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import type { Model } from '../model/model.js';
import { shown_name } from '../model/names.js';
import { counted } from '../model/numbers.js';
import { run_changed } from '../model/run.js';
import { topmost } from '../model/copies.js';
import { Icon } from '../parts/icon.js';
import { anchor_of } from '../parts/popover.js';
import { usePage } from './context.js';
import { end_find, find } from './find.js';
import type { Findings } from './find.js';
import { PeopleList, PeopleMarks } from '../people/people_list.js';
import { KeptSearches, SearchField } from './search_field.js';
import { hang } from './hang.js';
import { begin_row_drag, row_height, y_in } from './tree_drag.js';
import type { DropPlace } from './tree_drag.js';

export interface TreeLine {
  entity: Entity;
  depth: number;
  name: string;
  children: number;
  is_open: boolean;
  /** Its place among its siblings, beginning with 1, and their number; 0 if unknown. */
  place: number;
  siblings: number;
  /** Set for search results. */
  path?: string;
}

/** Returns the rows of open nodes, from top to bottom. */
export function open_lines(model: Model): TreeLine[] {
  const { order } = model;
  const lines: TreeLine[] = [];
  const add = (of: Entity, depth: number): void => {
    const rows = order.rows(of);
    rows.forEach(({ entity, name, child_count }, i) => {
      const is_open = child_count > 0 && order.is_open(entity);
      lines.push({ entity, depth, name, children: child_count, is_open, place: i + 1, siblings: rows.length });
      if (is_open) add(entity, depth + 1);
    });
  };
  add(nil, 0);
  return lines;
}

/** Returns the name of the icon for an entity, according to how the entity is drawn. */
export function icon_of(model: Model, entity: Entity, children: number): string {
  const drawn = (name: string): StructValue | undefined => {
    const key: { name: string; value?: StructValue } = { name: `scene.${name}` };
    return model.world.component(entity, key);
  };
  if (drawn('Light')) return 'light';
  if (drawn('Camera')) return 'camera';
  if (drawn('MeshReference')) return 'boxes';
  const shape = drawn('Shape');
  if (shape) return ['box', 'sphere', 'cylinder', 'capsule', 'cone'][Number(shape.kind)] ?? 'box';
  return children > 0 ? 'folder' : 'circle';
}

export function TreePanel(): JSX.Element {
  const { model, ui } = usePage();
  const list = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const drop = useSignal<DropPlace | null>(null);
  const cursor = useSignal<Entity | null>(null);
  const lines = useComputed((): Findings => {
    const query = ui.search.value.trim();
    if (query) {
      void model.structure_version.value;
      return find(model, query);
    }
    end_find();
    void model.order.version.value;
    return { lines: open_lines(model), total: -1 };
  });
  useEffect(() => {
    const element = list.current!;
    const size = new ResizeObserver(() => (height.value = element.clientHeight));
    size.observe(element);
    return () => size.disconnect();
  }, []);
  // Scrolls to an entity selected elsewhere, unless its row is already visible. When the selection
  // is cleared, scrolls back to the user's position.
  const shown_for = useRef<Entity | null>(null);
  const left_at = useRef<{ row: Entity; beyond: number } | null>(null);
  const stay = (): void => void (left_at.current = null);
  useSignalEffect(() => {
    const active = model.selection.entities.value[model.selection.entities.value.length - 1];
    const rows = lines.value.lines;
    if (!active) {
      shown_for.current = null;
      const { row, beyond } = left_at.current ?? {};
      const at = row ? rows.findIndex((each) => same_entity(each.entity, row)) : -1;
      if (at >= 0) list.current!.scrollTop = at * row_height + beyond!;
      stay();
      return;
    }
    if (shown_for.current && same_entity(shown_for.current, active)) return;
    const scrolled = list.current?.scrollTop ?? 0;
    const top_row = rows[Math.floor(scrolled / row_height)];
    if (top_row) left_at.current ??= { row: top_row.entity, beyond: scrolled % row_height };
    const at = rows.findIndex((row) => same_entity(row.entity, active));
    if (at < 0) return;
    shown_for.current = active;
    cursor.value = active;
    show_row(list.current, at);
  });

  // The found row stays visible after the search.
  const was_searching = useRef(false);
  useSignalEffect(() => {
    const is_searching = ui.search.value.trim() !== '';
    if (was_searching.current && !is_searching) {
      shown_for.current = null;
      const active = model.selection.entities.peek().at(-1);
      if (active) model.reveal(active);
    }
    was_searching.current = is_searching;
  });

  useSignalEffect(() => {
    const renamed = ui.renaming.value;
    const at = renamed ? lines.value.lines.findIndex((row) => same_entity(row.entity, renamed)) : -1;
    if (at >= 0) show_row(list.current, at);
  });

  const rows = lines.value.lines;
  const first = Math.max(0, Math.floor(top.value / row_height) - 4);
  const last = Math.min(rows.length, Math.ceil((top.value + height.value) / row_height) + 4);
  const selected = model.selection.entities.value;

  const choose = (at: number, event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }): void => {
    const { entity } = rows[at];
    if (model.picking.peek()) return model.pick(entity);
    if (event.shiftKey && cursor.peek()) {
      const from = rows.findIndex((row) => same_entity(row.entity, cursor.peek()!));
      const [low, high] = from < 0 ? [at, at] : [Math.min(from, at), Math.max(from, at)];
      const range = rows.slice(low, high + 1).map((row) => row.entity);
      model.selection.set(at >= from ? range : range.reverse());
      shown_for.current = entity;
      return;
    }
    shown_for.current = entity;
    cursor.value = entity;
    if (event.ctrlKey || event.metaKey) model.selection.toggle(entity);
    else model.selection.set([entity]);
  };
  const key = (event: KeyboardEvent): void => {
    if (rows.length === 0 || ui.renaming.peek()) return;
    const at = rows.findIndex((row) => cursor.peek() && same_entity(row.entity, cursor.peek()!));
    const row = rows[at];
    const go = (to: number): void => {
      const bounded = Math.max(0, Math.min(rows.length - 1, to));
      if (event.shiftKey) {
        model.selection.add([rows[bounded].entity]);
        shown_for.current = cursor.value = rows[bounded].entity;
      } else {
        choose(bounded, { shiftKey: false, ctrlKey: false, metaKey: false });
      }
      show_row(list.current, bounded);
    };
    const page = Math.max(1, Math.floor(height.peek() / row_height) - 1);
    // Other combinations are those of commands.
    if (event.altKey || ((event.ctrlKey || event.metaKey) && event.key !== 'a')) return;
    switch (event.key) {
      case 'ArrowDown':
        go(at + 1);
        break;
      case 'ArrowUp':
        go(at < 0 ? rows.length - 1 : at - 1);
        break;
      case 'PageDown':
        go(at + page);
        break;
      case 'PageUp':
        go(at - page);
        break;
      case 'Home':
        go(0);
        break;
      case 'End':
        go(rows.length - 1);
        break;
      case 'ArrowRight':
        if (!row) return;
        if (row.children > 0 && !row.is_open) model.order.open(row.entity);
        else if (row.is_open) go(at + 1);
        break;
      case 'ArrowLeft': {
        if (!row) return;
        const parent = model.world.get(row.entity)?.parent;
        if (row.is_open) model.order.close(row.entity);
        else if (parent && !is_nil(parent)) go(rows.findIndex((each) => same_entity(each.entity, parent)));
        break;
      }
      case 'a':
        if (!event.ctrlKey && !event.metaKey) return;
        model.selection.set(rows.map((each) => each.entity));
        break;
      case 'Enter':
        model.commands.run('view.frame');
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <section class="panel tree" aria-label="Entities">
      <header class="panel-head">
        <SearchField />
        <button
          class="tool"
          aria-label="Create an entity"
          title="Create (Shift+A)"
          disabled={!model.may_edit.value}
          onClick={(event) => (ui.create_at.value = anchor_of(event.currentTarget))}
        >
          <Icon name="plus" />
        </button>
      </header>
      <KeptSearches />
      {lines.value.total >= 0 && (
        <div class="tree-found" role="status">
          {lines.value.note ??
            `${rows.length === lines.value.total ? '' : `${counted(rows.length)} of `}${counted(lines.value.total)} found`}
        </div>
      )}
      <div
        ref={list}
        class="tree-list"
        role="tree"
        aria-label="Entities"
        aria-multiselectable="true"
        aria-activedescendant={
          cursor.value && rows.some((row) => same_entity(row.entity, cursor.value!)) ? row_id(cursor.value) : undefined
        }
        tabIndex={0}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
        onWheel={stay}
        onPointerDown={stay}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') stay();
          key(event);
        }}
        onPointerLeave={() => (model.hovered.value = null)}
        onContextMenu={(event) => {
          event.preventDefault();
          const at = Math.floor(y_in(list.current!, event.clientY) / row_height);
          const row = rows[at];
          if (row && !model.selection.has(row.entity)) choose(at, { shiftKey: false, ctrlKey: false, metaKey: false });
          if (!row) model.selection.clear();
          model.commands.menu_at(event.clientX, event.clientY);
        }}
      >
        <div class="tree-space" style={{ height: `${rows.length * row_height}px` }} role="presentation">
          {rows.slice(first, last).map((row, i) => (
            <Row
              key={id_text(row.entity)}
              row={row}
              at={first + i}
              is_selected={model.selection.has(row.entity)}
              is_active={selected.length > 0 && same_entity(selected[selected.length - 1], row.entity)}
              choose={choose}
              press={(event) => {
                if (event.button !== 0 || ui.search.peek() !== '') return;
                begin_row_drag(event, {
                  model,
                  rows: () => lines.peek().lines,
                  list: list.current!,
                  of: row.entity,
                  drop,
                  done: (place, keeps_local) => {
                    const moved = topmost(
                      model.world,
                      model.selection.has(row.entity) ? model.selection.entities.peek() : [row.entity],
                    );
                    if (!is_nil(place.parent)) model.order.open(place.parent);
                    void hang(model, moved, place.parent, place.before, keeps_local);
                  },
                });
              }}
            />
          ))}
          {drop.value && (
            <div
              class={`drop ${drop.value.is_inside ? 'drop-inside' : 'drop-between'}`}
              style={{ top: `${drop.value.y}px`, left: `${8 + drop.value.depth * 14}px` }}
            />
          )}
        </div>
        {rows.length === 0 && !lines.value.note && <TreeEmpty />}
      </div>
      <PeopleList />
    </section>
  );
}

function show_row(list: HTMLElement | null, at: number): void {
  if (!list) return;
  const y = at * row_height;
  if (y < list.scrollTop) list.scrollTop = y - row_height;
  else if (y + row_height > list.scrollTop + list.clientHeight) list.scrollTop = y + 2 * row_height - list.clientHeight;
}
function row_id(entity: Entity): string {
  return `row-${entity.index}-${entity.generation}`;
}

function TreeEmpty(): JSX.Element {
  const { model, ui } = usePage();
  if (ui.search.value.trim()) return <p class="empty">No matches.</p>;
  const { kind } = model.link.value;
  if (!model.is_there.value && (kind === 'refused' || kind === 'offline' || kind === 'reconnecting')) return <></>;
  if (!model.is_there.value)
    return (
      <div class="skeleton" aria-label="Loading">
        {[70, 54, 82, 46, 62, 74, 50].map((width, i) => (
          <i key={i} style={{ width: `${width}%` }} />
        ))}
      </div>
    );
  if (model.world.size > 0) return <></>;
  return <p class="empty">This world has no entities yet. Create one with Shift+A.</p>;
}

function Row(props: {
  row: TreeLine;
  at: number;
  is_selected: boolean;
  is_active: boolean;
  choose(at: number, event: PointerEvent | MouseEvent): void;
  press(event: PointerEvent): void;
}): JSX.Element {
  const { model, ui } = usePage();
  const { row, at } = props;
  const { entity } = row;
  const is_renamed = ui.renaming.value !== null && same_entity(ui.renaming.value, entity);
  const hovered = model.hovered.value;
  const classes = ['tree-row'];
  if (props.is_selected) classes.push('is-selected');
  if (props.is_active) classes.push('is-active');
  if (ui.cut.value?.entities.some((each) => same_entity(each, entity))) classes.push('is-cut');
  if (hovered && same_entity(hovered, entity)) classes.push('is-hovered');
  if (model.seen.is_hidden(entity)) classes.push('is-unseen');
  return (
    <div
      id={row_id(entity)}
      class={classes.join(' ')}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-posinset={row.place || undefined}
      aria-setsize={row.siblings || undefined}
      aria-selected={props.is_selected}
      aria-expanded={row.children > 0 ? row.is_open : undefined}
      aria-label={row.name || `#${id_text(entity)}`}
      style={{ top: `${at * row_height}px`, paddingLeft: `${4 + row.depth * 14}px` }}
      onPointerDown={(event) => {
        if (is_renamed || (event.target as Element).closest('.twist, .seen-hands')) return;
        props.press(event);
      }}
      onClick={(event) => {
        if (!is_renamed && !(event.target as Element).closest('.twist')) props.choose(at, event);
      }}
      onDblClick={() => {
        if (!is_renamed) model.commands.run('view.frame');
      }}
      onPointerEnter={() => (model.hovered.value = entity)}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={() => (row.is_open ? model.order.close(entity) : model.order.open(entity))}
      >
        {row.children > 0 && <Icon name={row.is_open ? 'chevron-down' : 'chevron-right'} size={14} />}
      </span>
      <Icon name={icon_of(model, entity, row.children)} size={14} />
      {is_renamed ? (
        <RenameField entity={entity} name={row.name} />
      ) : (
        <span
          class={`tree-name ${row.name ? '' : 'is-faint'}`}
          title={row.path ?? (row.name.length > 24 ? shown_name(row.name) : undefined)}
        >
          {shown_name(row.name) || `#${id_text(entity)}`}
        </span>
      )}
      {row.path !== undefined && <span class="tree-path">{row.path}</span>}
      {row.children > 0 && !is_renamed && <span class="tree-count" data-count={counted(row.children)} />}
      {!is_renamed && <PeopleMarks entity={entity} />}
      {!is_renamed && model.knows('scene.Transform') && <SeenHands entity={entity} />}
    </div>
  );
}

/** Hides and locks an entity by the pointer; the keys are H and L. */
function SeenHands({ entity }: { entity: Entity }): JSX.Element {
  const { seen } = usePage().model;
  const [is_hidden, is_locked] = [seen.hides(entity), seen.locks(entity)];
  const press = (event: MouseEvent, act: () => void): void => {
    event.stopPropagation();
    act();
  };
  return (
    <span class="seen-hands" aria-hidden="true">
      <span
        class={`seen-hand ${is_locked ? 'is-on' : ''}`}
        title={is_locked ? 'Unlock in the viewport' : 'Lock: the viewport does not select it'}
        onClick={(event) => press(event, () => seen.lock([entity], !is_locked))}
      >
        <Icon name="lock" size={14} />
      </span>
      <span
        class={`seen-hand ${is_hidden ? 'is-on' : ''}`}
        title={is_hidden ? 'Show in the viewport' : 'Hide in the viewport'}
        onClick={(event) => press(event, () => seen.hide([entity], !is_hidden))}
      >
        <Icon name={is_hidden ? 'eye-off' : 'eye'} size={14} />
      </span>
    </span>
  );
}

export function RenameField({ entity, name }: { entity: Entity; name: string }): JSX.Element {
  const { model, ui } = usePage();
  const input = useRef<HTMLInputElement>(null);
  const is_over = useRef(false);
  const epoch = model.run.epoch.value;
  const begun = useRef(epoch);
  useLayoutEffect(() => {
    if (begun.current !== epoch) end(false);
  }, [epoch]);
  useLayoutEffect(() => {
    input.current!.focus();
    input.current!.select();
  }, []);
  const end = (is_kept: boolean): void => {
    if (is_over.current) return;
    is_over.current = true;
    const typed = input.current!.value;
    ui.renaming.value = null;
    if (begun.current !== model.run.epoch.peek()) {
      const why = run_changed(model.run.playing.peek());
      if (typed !== name) model.edits.say_dropped(`What you were typing was dropped, because ${why}.`);
    } else if (is_kept) {
      void model.edits.rename(entity, typed);
    }
    document.querySelector<HTMLElement>('.tree-list')?.focus();
  };
  return (
    <input
      ref={input}
      class="rename"
      type="text"
      aria-label="New name"
      spellcheck={false}
      defaultValue={name}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') end(true);
        if (event.key === 'Escape') end(false);
      }}
    />
  );
}
