// Other users in the panels: a list, marks of what they have selected, and who holds an entity.
import { id_text } from 'muster-client';
import type { Entity } from 'muster-client';
import type { JSX } from 'preact';

import type { Model } from '../model/model.js';
import { as_sentence } from '../model/sentences.js';
import { usePage } from '../panels/context.js';
import { Icon } from '../parts/icon.js';
import { person_colors } from './people.js';
import type { Person } from './people.js';
import './people.css';

const color = ({ color: index }: Person): JSX.CSSProperties =>
  ({ '--person': person_colors[index] }) as JSX.CSSProperties;

/** Says what a person does: "moving gate", "gate", "3 selected". */
function doing(model: Model, { selection, dragged }: Person): string {
  if (dragged.length > 0) return `moving ${dragged.length === 1 ? model.label(dragged[0]) : `${dragged.length} entities`}`;
  return selection.length === 1 ? model.label(selection[0]) : selection.length > 1 ? `${selection.length} selected` : '';
}
function hint({ name, kind, camera, selection }: Person): string {
  const hand = camera ? '. Click: look from there' : selection.length > 0 ? '. Click: select the same' : '';
  return `${name} (${kind})${hand}`;
}
/** Looks from a person's camera or, without one, selects what the person has selected. */
function go_to(model: Model, { camera, selection }: Person): void {
  const placer = model.placer.peek();
  if (camera && placer) placer.look_from(camera.position, camera.target);
  else if (selection.length > 0) {
    model.selection.set(selection.filter((entity) => model.world.get(entity)));
    if (model.selection.active) model.reveal(model.selection.active);
  }
}

/** The other users who are connected, below the tree. */
export function PeopleList(): JSX.Element | null {
  const { model } = usePage();
  void model.structure_version.value;
  const people = model.people.others.value;
  if (people.length === 0) return null;
  return (
    <div class="people" role="group" aria-label="Other users">
      {people.map((person) => (
        <button
          key={String(person.session)}
          class="person"
          style={color(person)}
          title={hint(person)}
          onClick={() => go_to(model, person)}
        >
          {person.is_agent ? <Icon name="bot" size={14} /> : <i class="dot" />}
          <span class="person-name">{person.name}</span>
          {person.is_agent && <span class="person-kind">agent</span>}
          <span class="person-doing">{doing(model, person)}</span>
        </button>
      ))}
    </div>
  );
}

/** Marks of a row in the tree: who has selected the entity, and who is moving it. */
export function PeopleMarks({ entity }: { entity: Entity }): JSX.Element | null {
  const { people } = usePage().model;
  const id = id_text(entity);
  const holders = people.holding.value.get(id) ?? [];
  const all = [...holders, ...(people.selecting.value.get(id) ?? []).filter((person) => !holders.includes(person))];
  if (all.length === 0) return null;
  return (
    <span class="people-marks" aria-hidden="true">
      {all.slice(0, 3).map((person) => {
        const is_held = holders.includes(person);
        return (
          <span
            key={String(person.session)}
            class={`person-mark ${is_held ? 'is-holding' : ''}`}
            style={color(person)}
            data-name={person.name}
            title={is_held ? people.held([entity]) : `${person.name} has selected this`}
          >
            {is_held ? <Icon name="lock" size={12} /> : <i class="dot" />}
          </span>
        );
      })}
    </span>
  );
}

/** A line above the components, while another user holds one of the entities. */
export function HeldByOthers({ entities }: { entities: readonly Entity[] }): JSX.Element | null {
  const { people } = usePage().model;
  const why = people.held(entities);
  if (why === undefined) return null;
  const person = entities.flatMap((entity) => people.holding.value.get(id_text(entity)) ?? [])[0];
  return (
    <p class="held-by-other" role="status" style={person && color(person)}>
      <Icon name="lock" size={14} /> {as_sentence(why)}
    </p>
  );
}
