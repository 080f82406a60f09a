// Templates as the page reads and writes them: the values of each node, and new definitions.
import { default_bytes, id_text, is_nil, place_of, read_struct, write_whole_struct } from 'muster-client';
import type { Entity, muster, StructValue, TypeDescriptor } from 'muster-client';

import { FreeNames } from '../model/names.js';
import { root_order } from '../model/root_order.js';
import { mapped } from '../model/values.js';

export const spawned_from = 'scene.SpawnedFrom';
export const transform = 'scene.Transform';
/** Given by the place and the name at which a template is spawned, or by the link to it. */
const of_place: ReadonlySet<string> = new Set(['muster.Name', 'muster.ChildOf', spawned_from, root_order]);

export type Types = ReadonlyMap<string, TypeDescriptor>;
type Value = muster.TemplateValue;

/** Returns true if a template can contain the component. */
export function is_in_templates(type: TypeDescriptor | undefined): type is TypeDescriptor {
  return type !== undefined && !of_place.has(type.name) && type.remote !== 'none';
}

/** Returns the paths of the parts of a component that are overridden separately. */
export function properties(type: TypeDescriptor, before = ''): string[] {
  return type.fields.flatMap((field) => {
    const path = before + field.name;
    const paths = field.is_array ? Array.from({ length: field.count }, (_, i) => `${path}[${i}]`) : [path];
    // A message that sets a part of a component has room for 64 bytes.
    const is_large = field.element === 'structure' && field.type!.size > 64;
    return is_large ? paths.flatMap((each) => properties(field.type!, each + '.')) : paths;
  });
}

/** Returns true for the property that the place of a spawned tree determines. */
export function is_own_place(node: string, component: string, property: string): boolean {
  return node === '' && component === transform && property === 'position';
}

export class Template {
  /** The path of each node. An unnamed node has its number among all nodes as its name. */
  readonly paths: readonly string[];
  private readonly numbers: ReadonlyMap<string, number>;
  private readonly by_id: ReadonlyMap<number, TypeDescriptor>;

  constructor(
    readonly definition: muster.DefineTemplate,
    types: Types,
  ) {
    this.by_id = new Map([...types.values()].map((type) => [type.id, type]));
    const paths: string[] = [];
    definition.nodes.forEach(({ parent, name }, i) => {
      const own = name || `#${i}`;
      paths.push(i === 0 ? '' : paths[parent] === '' ? own : `${paths[parent]}/${own}`);
    });
    this.paths = paths;
    this.numbers = new Map(paths.map((path, i) => [path, i]));
  }
  get name(): string {
    return this.definition.name;
  }
  has(path: string): boolean {
    return this.numbers.has(path);
  }
  number(path: string): number | undefined {
    return this.numbers.get(path);
  }
  /** Returns the full names of a node's components that the page can read. */
  components(path: string): string[] {
    const number = this.numbers.get(path);
    if (number === undefined) return [];
    return this.definition.nodes[number].components.flatMap((value) => this.type_of(value)?.name ?? []);
  }
  /**
   * Returns a node's value of a component, with references to the entities that `to` returns for
   * paths of nodes.
   */
  value(path: string, component: string, to: (path: string) => Entity | undefined): StructValue | undefined {
    const number = this.numbers.get(path);
    const value = number === undefined ? undefined : this.find(number, component);
    const type = value && this.type_of(value);
    if (!type) return undefined;
    const bytes = value.value.slice();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (const { offset, node } of value.references) put_entity(view, offset, to(this.paths[node]));
    return read_struct(type, view, 0);
  }
  /** Returns the messages of a node, with references to nodes of another template. */
  messages(path: string, now: (path: string) => number | undefined): Value[] {
    const number = this.numbers.get(path);
    return (number === undefined ? [] : this.definition.nodes[number].messages).map((message) => ({
      ...message,
      references: message.references.flatMap(({ offset, node }) => {
        const there = now(this.paths[node]);
        return there === undefined ? [] : [{ offset, node: there }];
      }),
    }));
  }
  /** Returns a definition in which a node has another set of components. */
  with_components(path: string, components: readonly Value[], texts: readonly string[]): muster.DefineTemplate {
    const { definition } = this;
    const nodes = definition.nodes.map((node, i) =>
      this.paths[i] === path ? { ...node, components: by_type(components) } : node,
    );
    return { ...definition, nodes, texts: [...new Set([...definition.texts, ...texts])] };
  }
  find(number: number, component: string): Value | undefined {
    return this.definition.nodes[number].components.find((value) => this.type_of(value)?.name === component);
  }
  private type_of(value: Value): TypeDescriptor | undefined {
    const type = this.by_id.get(value.type);
    return type?.fingerprint === value.fingerprint ? type : undefined;
  }
}

/** Writes values of entities as values of a template. */
export class ValueWriter {
  readonly texts = new Set<string>();

  /**
   * `node` returns the number of the node for an entity of the tree, and `text` the content of a
   * text field.
   */
  constructor(
    private readonly node: (entity: Entity) => number | undefined,
    private readonly text: (hash: bigint) => string,
  ) {}

  /** Returns a whole value. */
  whole(type: TypeDescriptor, value: StructValue): Value {
    mapped(type, value, (field, each) => {
      const content = field.element !== 'text' ? '' : typeof each === 'bigint' ? this.text(each) : String(each);
      if (content !== '') this.texts.add(content);
      return each;
    });
    const bytes = default_bytes(type).slice();
    const view = new DataView(bytes.buffer);
    write_whole_struct(type, view, 0, value, (text) => this.texts.add(text));
    const references: muster.TemplateReference[] = [];
    for (const offset of entity_offsets(type)) {
      const to = { index: view.getUint32(offset, true), generation: view.getUint32(offset + 4, true) };
      const node = is_nil(to) ? undefined : this.node(to);
      if (node === undefined) continue;
      references.push({ offset, node });
      put_entity(view, offset, undefined);
    }
    const given = type.tag ? [] : [{ offset: 0, bytes: type.size }];
    return { type: type.id, fingerprint: type.fingerprint, value: bytes, given, references };
  }
  /** Returns `before` with one part of `value`. */
  part(type: TypeDescriptor, before: Value, value: StructValue, path: string): Value {
    const all = this.whole(type, value);
    const { offset, size } = place_of(type, path);
    const is_inside = (reference: { offset: number }): boolean =>
      reference.offset >= offset && reference.offset < offset + size;
    const bytes = before.value.slice();
    bytes.set(all.value.subarray(offset, offset + size), offset);
    return {
      ...before,
      value: bytes,
      given: [...before.given, { offset, bytes: size }],
      references: [
        ...before.references.filter((each) => !is_inside(each)),
        ...all.references.filter(is_inside),
      ].sort((a, b) => a.offset - b.offset),
    };
  }
}

/** An entity from which a node is made. */
export interface Source {
  entity: Entity;
  parent: Entity;
  /** The name of the node, if it is free. */
  name: string;
  components: Record<string, StructValue>;
}

/**
 * Defines a template from a tree, whose root comes first. The root is at the origin. References
 * among the entities stay among those that are spawned. Nodes that `before` has too keep their
 * messages.
 */
export function definition_of(
  name: string,
  sources: readonly Source[],
  types: Types,
  text: (hash: bigint) => string,
  before: Template | null,
): muster.DefineTemplate {
  const numbers = new Map(sources.map(({ entity }, i) => [id_text(entity), i]));
  const writer = new ValueWriter((entity) => numbers.get(id_text(entity)), text);
  const names = new FreeNames(() => []);
  const nodes = sources.map(({ entity, parent, name: own, components }, i): muster.TemplateNode => {
    const values = Object.entries(components).flatMap(([component, value]) => {
      const type = types.get(component);
      if (!is_in_templates(type)) return [];
      const at_origin = i === 0 && component === transform ? { ...value, position: { x: 0, y: 0, z: 0 } } : value;
      return writer.whole(type, at_origin);
    });
    const is_root = entity === sources[0].entity;
    return {
      parent: is_root ? 0 : numbers.get(id_text(parent))!,
      name: is_root ? '' : names.take(parent, own === '' ? 'part' : own),
      components: by_type(values),
      messages: [],
    };
  });
  const made = { name, nodes, texts: [...writer.texts] };
  if (!before) return made;
  const now = new Template(made, types);
  nodes.forEach((node, i) => (node.messages = before.messages(now.paths[i], (path) => now.number(path))));
  return { ...made, texts: [...new Set([...made.texts, ...before.definition.texts])] };
}

function by_type(values: readonly Value[]): Value[] {
  return [...values].sort((a, b) => a.type - b.type);
}
function put_entity(view: DataView, at: number, entity: Entity | undefined): void {
  view.setUint32(at, entity?.index ?? 0, true);
  view.setUint32(at + 4, entity?.generation ?? 0, true);
}
function entity_offsets(type: TypeDescriptor, at = 0): number[] {
  return type.fields.flatMap((field) => {
    if (field.element !== 'entity' && field.element !== 'structure') return [];
    const places = Array.from({ length: field.is_array ? field.count : 1 }, (_, i) => at + field.offset + i * field.size);
    return field.element === 'entity' ? places : places.flatMap((each) => entity_offsets(field.type!, each));
  });
}
