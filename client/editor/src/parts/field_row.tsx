// A field of a struct or table of any type, with its label. Everything follows from the schema.
import type { FieldDescriptor, StructValue, TypeDescriptor } from 'muster-client';

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';

import { quat_of } from '../model/euler.js';
import type { Quat, Vec3 } from '../model/euler.js';
import { short_text } from '../model/numbers.js';
import { default_value, words } from '../model/values.js';
import { ColorField } from './color_field.js';
import { Icon } from './icon.js';
import { look_of } from './kinds.js';
import type { FieldLook } from './kinds.js';
import { BoolField, EntityField, EnumField, FlagsField, mixed, TextField } from './line_fields.js';
import { NumberInput } from './number_input.js';
import { anchor_of } from './popover.js';
import { Wrong } from './sink.js';
import type { ValueSink } from './sink.js';
import { has_slider, Slider } from './slider.js';

export interface RowProps {
  field: FieldDescriptor;
  /** Dotted path in the component or message. */
  path: string;
  label: string;
  /** One value per entity. */
  values: readonly unknown[];
  sink: ValueSink;
  /** Number of enclosing rows. */
  depth: number;
  as_element?: boolean;
  unit?: string;
}

/** Shows all fields of a struct or table. */
export function FieldRows(props: {
  type: TypeDescriptor;
  path: string;
  values: readonly unknown[];
  sink: ValueSink;
  depth: number;
  /** Words that the labels of shown fields must contain. */
  wanted?: string;
}): JSX.Element {
  const { type, path, values, sink, depth } = props;
  const parts = (props.wanted ?? '').toLowerCase().split(/\s+/);
  const shown = type.fields.filter(({ name }) => parts.every((part) => words(name).toLowerCase().includes(part)));
  return (
    <>
      {shown.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          path={path ? `${path}.${field.name}` : field.name}
          label={words(field.name)}
          values={values.map((value) => (value as StructValue | undefined)?.[field.name])}
          sink={sink}
          depth={depth}
        />
      ))}
    </>
  );
}

const block_looks: ReadonlySet<FieldLook> = new Set(['struct', 'array', 'list', 'table', 'bytes']);

/** Styles the label column of `.row`: as wide as the longest label, but leaving room for values. */
export function label_column(type: Pick<TypeDescriptor, 'fields'>): Record<string, string> {
  const rows = type.fields.filter((field) => !block_looks.has(look_of(field)));
  const letters = Math.max(0, ...rows.map(({ name, unit }) => name.length + (unit ? unit.length + 1 : 0)));
  const has_axes = rows.some((field) => /^(vector|rotation)$/.test(look_of(field)));
  return { '--label': `${Math.round(letters * 6.5 + 8)}px`, '--label-max': has_axes ? '36%' : '55%' };
}

export function FieldRow(props: RowProps): JSX.Element {
  const { field, path, label, values, sink, depth } = props;
  const look = look_of(field, props.as_element);
  const unit = props.unit || field.unit;
  if (block_looks.has(look)) return <BlockRow {...props} look={look} unit={unit} />;
  const refusal = sink.refusal(path);
  const line = { field, path, label, values, sink, is_wrong: refusal !== undefined };
  let inside: ComponentChildren;
  let suffix = unit;
  switch (look) {
    case 'boolean':
      inside = <BoolField {...line} />;
      break;
    case 'enum':
      inside = <EnumField {...line} />;
      break;
    case 'flags':
      inside = <FlagsField {...line} />;
      break;
    case 'text':
      inside = <TextField {...line} />;
      break;
    case 'entity':
      inside = <EntityField {...line} />;
      break;
    case 'color':
      inside = <ColorRowFields {...props} is_wrong={refusal !== undefined} />;
      break;
    case 'vector':
      inside = <VectorFields {...props} unit={unit} />;
      break;
    case 'rotation':
      inside = <RotationFields {...props} />;
      suffix = '°';
      break;
    default:
      inside = (
        <>
          {has_slider(field) && <Slider {...line} values={values as (number | undefined)[]} />}
          <NumberCell {...props} unit={unit} />
        </>
      );
      suffix = '';
  }
  return (
    <div class="row" data-depth={depth} data-path={path} onContextMenu={(event) => field_menu(event, props)}>
      <span class={`row-label ${differs(props) ? 'is-changed' : ''}`} title={label_title(props)}>
        <span class="label-text">{label}</span>
        {suffix && look !== 'text' && <span class="row-unit">{suffix}</span>}
        <FieldHands {...props} />
      </span>
      <span class="row-value">{inside}</span>
      <Refused path={path} sink={sink} field={field} />
      {edited_parts(field, look).map((part) => (
        <Refused key={part.name} path={`${path}.${part.name}`} sink={sink} field={part} />
      ))}
    </div>
  );
}
/** Elements of lists have no default of their own. */
function differs({ sink, path, values, as_element }: RowProps): boolean {
  return !as_element && (sink.differs?.(path, values) ?? false);
}
function label_title(props: RowProps): string {
  const about = props.field.doc ? `${props.label}: ${props.field.doc}` : props.label;
  return differs(props) ? `${about}\nDiffers from the ${props.sink.differs_from ?? 'default'}.` : about;
}
/** Opens the menu of the field, unless text is being typed, for which the browser has its own. */
function field_menu(event: MouseEvent, { sink, path, field, as_element, values }: RowProps): void {
  if (!sink.menu || (event.target === document.activeElement && (event.target as Element).matches('input[type=text]')))
    return;
  event.preventDefault();
  event.stopPropagation();
  const is_by_keys = event.clientX === 0 && event.clientY === 0;
  const at = is_by_keys ? anchor_of(event.target as Element) : { x: event.clientX, y: event.clientY };
  sink.menu(at, path, field, as_element ?? false, values);
}
/** The buttons at the end of a label. */
function FieldHands({ sink, path, label, field, as_element, values }: RowProps): JSX.Element {
  return (
    <span class="row-hands">
      {sink.keep?.is_edited(path) && (
        <button
          class="in-field row-keep"
          aria-label={`Apply ${label} to the level`}
          title="Apply to level: this edit stays when the run is stopped"
          onClick={() => sink.keep!.apply(path)}
        >
          <Icon name="keep" size={14} />
        </button>
      )}
      {sink.menu && (
        <button
          class="in-field row-more"
          aria-label={`More for ${label}`}
          aria-haspopup="menu"
          onClick={(event) => sink.menu!(anchor_of(event.currentTarget), path, field, as_element ?? false, values)}
        >
          <Icon name="more" size={14} />
        </button>
      )}
    </span>
  );
}

/** Returns the parts that are edited, and refused, separately. */
function edited_parts(field: FieldDescriptor, look: FieldLook): readonly FieldDescriptor[] {
  if (look === 'vector') return field.type!.fields;
  if (look === 'color' && !field.is_array) return field.type!.fields.filter((part) => part.name === 'a');
  return [];
}

/** Shows the server's message below a field that it refused, and the field's actual value. */
export function Refused({
  path,
  sink,
  field,
}: {
  path: string;
  sink: ValueSink;
  field: FieldDescriptor;
}): JSX.Element | null {
  const refusal = sink.refusal(path);
  if (!refusal) return null;
  return (
    <div class="refused" role="alert">
      <span class="refused-text" title={refusal.sentence}>
        {refusal.theirs === undefined
          ? refusal.sentence
          : `Somebody else changed it to ${value_text(field, refusal.theirs)} while you were editing it.`}
      </span>
      {refusal.theirs !== undefined && (
        <span class="refused-choices">
          <span class="refused-values">
            theirs <b>{value_text(field, refusal.theirs)}</b>, mine <b>{value_text(field, refusal.mine)}</b>
          </span>
          <button class="button is-small" onClick={() => sink.forget(path)}>
            Keep theirs
          </button>
          <button
            class="button is-small"
            onClick={() => {
              sink.forget(path);
              refusal.overwrite?.();
            }}
          >
            Use mine
          </button>
        </span>
      )}
      {refusal.theirs === undefined && (
        <button class="in-field" aria-label="Close" onClick={() => sink.forget(path)}>
          <Icon name="close" size={14} />
        </button>
      )}
    </div>
  );
}

export function value_text(field: FieldDescriptor, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') {
    const named = field.enumeration?.values.find((each) => each.value === value);
    return named ? words(named.name) : short_text(value);
  }
  if (typeof value === 'object' && value !== null)
    return Object.values(value)
      .map((each) => value_text(field, each))
      .join(', ');
  return String(value);
}

function NumberCell(props: RowProps & { axis?: string }): JSX.Element {
  const { field, path, values, sink } = props;
  const numbers = values as (number | bigint | undefined)[];
  return (
    <NumberInput
      field={field}
      label={props.label}
      values={numbers}
      unit={props.unit}
      axis={props.axis}
      is_live={sink.is_live}
      read_only={sink.read_only}
      is_wrong={sink.refusal(path) !== undefined}
      commit={(value, was) => sink.commit(path, value, was)}
      drag={() => {
        const gesture = sink.drag(path);
        const bases = numbers.map((value) => Number(value ?? 0));
        const clamp = (value: number): number => {
          const { min, max } = field.range ?? { min: -Infinity, max: Infinity };
          const low = field.element.startsWith('u') ? Math.max(0, min) : min;
          return Math.min(max, Math.max(low, value));
        };
        return {
          to: (by) => gesture.set(path, (i: number) => tidy(clamp((bases[i] ?? bases[0]) + by))),
          commit: () => gesture.commit(),
          cancel: () => gesture.cancel(),
        };
      }}
      complain={(sentence) => sink.commit(path, new Wrong(sentence))}
      cleared={() => sink.forget(path)}
    />
  );
}
function tidy(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function VectorFields(props: RowProps): JSX.Element {
  const { field, path, values, sink } = props;
  return (
    <span class="vector">
      {field.type!.fields.map((part) => (
        <NumberCell
          key={part.name}
          field={{ ...part, range: part.range ?? field.range }}
          path={`${path}.${part.name}`}
          label={`${props.label} ${part.name}`}
          axis={part.name}
          values={values.map((value) => (value as StructValue | undefined)?.[part.name])}
          sink={sink}
          depth={0}
        />
      ))}
    </span>
  );
}

/** Shows quaternions as degrees about the axes. */
function RotationFields(props: RowProps): JSX.Element {
  const { field, path, values, sink } = props;
  const eulers = values.map((value, i) => sink.angles(path, i).shown((value ?? { x: 0, y: 0, z: 0, w: 1 }) as Quat));
  const degrees: FieldDescriptor = { ...field.type!.fields[0], range: null, unit: 'deg', default_text: '' };
  const rotation = (euler: Vec3): Quat => {
    const { x, y, z, w } = quat_of(euler);
    return { x: Math.fround(x), y: Math.fround(y), z: Math.fround(z), w: Math.fround(w) };
  };
  const is_mixed = mixed(values);
  return (
    <span class="vector">
      {(['x', 'y', 'z'] as const).map((axis) => (
        <NumberInput
          key={axis}
          field={degrees}
          label={`${props.label} ${axis}`}
          axis={axis}
          values={eulers.map((euler) => euler[axis])}
          is_live={sink.is_live}
          read_only={sink.read_only}
          is_wrong={sink.refusal(path) !== undefined}
          commit={(value) => {
            const typed = eulers.map((euler, i) => ({
              ...euler,
              [axis]: typeof value === 'function' ? value(i) : Number(value),
            }));
            typed.forEach((euler, i) => sink.angles(path, i).typed(euler));
            const next = typed.map(rotation);
            sink.commit(path, (i: number) => next[i] ?? next[0], is_mixed ? undefined : values[0]);
          }}
          drag={() => {
            const gesture = sink.drag(path);
            const bases = eulers;
            let before: Vec3[] = [];
            return {
              to: (by) => {
                const turned = bases.map((euler) => ({ ...euler, [axis]: tidy(euler[axis] + by * 5) }));
                turned.forEach((euler, i) => sink.angles(path, i).typed(euler, before[i]));
                before = turned;
                const next = turned.map(rotation);
                gesture.set(path, (i: number) => next[i] ?? next[0]);
              },
              commit: () => gesture.commit(),
              cancel: () => gesture.cancel(),
            };
          }}
          complain={(sentence) => sink.commit(path, new Wrong(sentence))}
          cleared={() => sink.forget(path)}
        />
      ))}
    </span>
  );
}

/** Shows the patch, and the opacity if there is one. */
function ColorRowFields(props: RowProps & { is_wrong: boolean }): JSX.Element {
  const { field, path, values, sink } = props;
  const alpha = field.is_array ? undefined : field.type?.fields.find((each) => each.name === 'a');
  return (
    <span class="color-row">
      <ColorField
        field={colour_field(field)}
        path={path}
        label={props.label}
        values={values}
        sink={sink}
        is_wrong={props.is_wrong}
      />
      {alpha && (
        <NumberCell
          field={alpha}
          path={`${path}.a`}
          label={`${props.label} opacity`}
          values={values.map((value) => (value as StructValue | undefined)?.a)}
          sink={sink}
          depth={0}
          axis="a"
        />
      )}
    </span>
  );
}
function colour_field(field: FieldDescriptor): FieldDescriptor {
  return field.is_array ? field : { ...field, element: field.type!.fields[0].element };
}

const open_rows_max = 4;
/** Elements of a list are labeled with numbers. */
const no_fields = { fields: [] };

/** Shows fields whose own rows follow below the label. */
function BlockRow(props: RowProps & { look: FieldLook }): JSX.Element {
  const { field, path, label, values, sink, depth, look } = props;
  const count =
    look === 'array' ? field.count : look === 'list' ? ((values[0] as unknown[] | undefined)?.length ?? 0) : 0;
  const [is_open, set_open] = useState(look !== 'array' || count <= open_rows_max || is_grid(field));
  const is_absent = look === 'table' && (values[0] === null || values[0] === undefined);
  const about =
    look === 'array' || look === 'list'
      ? String(count)
      : look === 'bytes'
        ? `${(values[0] as Uint8Array | undefined)?.length ?? 0} bytes`
        : '';
  return (
    <div class="block" data-depth={depth} data-path={path}>
      <div class="block-head" onContextMenu={(event) => field_menu(event, props)}>
        <button
          class="block-title"
          aria-expanded={is_open}
          onClick={() => set_open(!is_open)}
          title={field.doc || undefined}
        >
          <Icon name={is_open ? 'chevron-down' : 'chevron-right'} size={14} />
          <span class={`block-name ${differs(props) ? 'is-changed' : ''}`}>{label}</span>
          {props.unit && <span class="row-unit">{props.unit}</span>}
          <span class="block-about">{about}</span>
        </button>
        <FieldHands {...props} />
        {look === 'list' && !sink.read_only && (
          <span class="block-hands">
            <button
              class="in-field"
              aria-label={`Add to ${label}`}
              onClick={() => sink.commit(path, [...((values[0] as unknown[]) ?? []), fresh(field)])}
            >
              <Icon name="plus" size={14} />
            </button>
            {count > 0 && (
              <button
                class="in-field"
                aria-label={`Remove the last of ${label}`}
                onClick={() => sink.commit(path, (values[0] as unknown[]).slice(0, -1))}
              >
                <Icon name="close" size={14} />
              </button>
            )}
          </span>
        )}
        {look === 'table' && !sink.read_only && (
          <button class="button is-small" onClick={() => sink.commit(path, is_absent ? fresh(field) : null)}>
            {is_absent ? 'Add' : 'Remove'}
          </button>
        )}
      </div>
      {is_open && (
        <div class="block-body" style={label_column(look === 'struct' || look === 'table' ? field.type! : no_fields)}>
          {(look === 'struct' || (look === 'table' && !is_absent)) && (
            <FieldRows type={field.type!} path={path} values={values} sink={sink} depth={depth + 1} />
          )}
          {look === 'array' && is_grid(field) && <NumberGrid {...props} />}
          {((look === 'array' && !is_grid(field)) || look === 'list') &&
            Array.from({ length: count }, (_, i) => (
              <FieldRow
                key={i}
                field={field}
                path={`${path}[${i}]`}
                label={String(i)}
                values={values.map((value) => (value as unknown[] | undefined)?.[i])}
                sink={sink}
                depth={depth + 1}
                unit={props.unit}
                as_element
              />
            ))}
        </div>
      )}
    </div>
  );
}

/** Returns true for matrices and other numbers that read better in columns. */
function is_grid(field: FieldDescriptor): boolean {
  return field.is_array && look_of(field, true) === 'number' && (field.count === 9 || field.count === 16);
}
function NumberGrid(props: RowProps): JSX.Element {
  const { field, path, values, sink } = props;
  return (
    <div class={`grid grid-${Math.sqrt(field.count)}`}>
      {Array.from({ length: field.count }, (_, i) => (
        <NumberCell
          key={i}
          field={field}
          path={`${path}[${i}]`}
          label={`${props.label} ${i}`}
          values={values.map((value) => (value as unknown[] | undefined)?.[i])}
          sink={sink}
          depth={0}
        />
      ))}
      {Array.from({ length: field.count }, (_, i) => (
        <Refused key={`refused ${i}`} path={`${path}[${i}]`} sink={sink} field={field} />
      ))}
    </div>
  );
}

/** Returns the initial value of a new list element or table. */
export function fresh(field: FieldDescriptor): unknown {
  switch (look_of(field, true)) {
    case 'boolean':
      return false;
    case 'entity':
      return { index: 0, generation: 0 };
    case 'text':
      return '';
    case 'table':
      return fresh_table(field.type!);
    case 'struct':
    case 'vector':
    case 'rotation':
    case 'color':
      return default_value(field.type!);
    case 'enum':
      return field.enumeration!.values[0]?.value ?? 0;
    default:
      return field.element === 'int64' || field.element === 'uint64' ? 0n : 0;
  }
}

/** Returns a new message: required fields are present, others have their defaults. */
export function fresh_table(type: TypeDescriptor): StructValue {
  if (!type.is_table) return default_value(type);
  return Object.fromEntries(
    type.fields.map((field) => {
      const look = look_of(field);
      if (look === 'list') return [field.name, []];
      if (look === 'bytes') return [field.name, new Uint8Array()];
      if (look === 'table') return [field.name, field.required ? fresh_table(field.type!) : null];
      if (field.element === 'structure') return [field.name, field.required ? default_value(field.type!) : null];
      if (field.element === 'string') return [field.name, ''];
      if (field.optional) return [field.name, null];
      return [field.name, default_scalar(field)];
    }),
  );
}
function default_scalar(field: FieldDescriptor): unknown {
  const text = field.default_text;
  if (text === '') return fresh(field);
  if (field.enumeration) return field.enumeration.values.find((each) => each.name === text)?.value ?? Number(text);
  if (field.element === 'boolean') return text === 'true' || text === '1';
  return field.element === 'int64' || field.element === 'uint64' ? BigInt(text) : Number(text);
}
