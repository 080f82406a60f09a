// What a replica tells, added up by somebody who sees nothing else of it.
import assert from 'node:assert/strict';

import { id_text, same_entity } from 'muster-client';
import type { Replica, ReplicaChanges, ReplicaEntity, StructValue } from 'muster-client';

interface Known {
  name: string;
  parent: string;
  components: Record<string, StructValue | undefined>;
}

export class Mirror {
  private readonly known = new Map<string, Known>();

  private of({ entity }: ReplicaEntity): Known {
    const known = this.known.get(id_text(entity));
    assert.ok(known, `${id_text(entity)} was told of before it came`);
    return known;
  }

  /** Fails where it tells of what is not so: whom nobody knew, from where one did not come, what was another value before. */
  take(changes: ReplicaChanges): void {
    const { created, destroyed, left, moved, renamed, values, removed, packed } = changes;
    for (const record of [...destroyed, ...left]) assert.ok(this.known.delete(id_text(record.entity)), `${id_text(record.entity)} went and had not come`);
    for (const { entity, name, parent, components } of created) {
      assert.ok(!this.known.has(id_text(entity)), `${id_text(entity)} came twice`);
      this.known.set(id_text(entity), { name, parent: id_text(parent), components: { ...components } });
    }
    for (const { entity, from } of moved) {
      const known = this.of(entity);
      assert.equal(known.parent, id_text(from));
      known.parent = id_text(entity.parent);
    }
    for (const { entity, from } of renamed) {
      const known = this.of(entity);
      assert.equal(known.name, from);
      known.name = entity.name;
    }
    for (const { entity, component, before } of values) {
      const known = this.of(entity);
      assert.deepEqual(known.components[component], before, component);
      known.components[component] = entity.components[component];
    }
    for (const { entity, component, before } of removed) {
      const known = this.of(entity);
      assert.deepEqual(known.components[component], before, component);
      delete known.components[component];
      assert.equal(entity.components[component], undefined);
    }
    for (const { component, column, changed, added, removed: gone } of packed) {
      const by_index = new Map([...this.known].map(([id, known]) => [Number(id.split(':')[0]), [id, known] as const]));
      for (const index of gone) {
        const known = by_index.get(index)![1];
        assert.ok(known.components[component], `${index} lost what it had not`);
        delete known.components[component];
      }
      assert.equal(new Set(changed).size, changed.length, 'each is told once');
      for (const index of added) assert.ok(changed.includes(index));
      for (const index of changed) {
        const [id, known] = by_index.get(index)!;
        const [, generation] = id.split(':').map(Number);
        assert.equal(added.includes(index), known.components[component] === undefined, `${id} had none before`);
        known.components[component] = column.get({ index, generation });
        assert.ok(known.components[component]);
      }
    }
  }

  /** Fails where it does not add up to what the replica holds. `packed`: the names of packed components. */
  agree(replica: Replica, packed: readonly string[] = []): void {
    const held = new Map<string, Known>();
    for (const { entity, name, parent, components } of replica) {
      const all: Known['components'] = { ...components };
      for (const component of packed) {
        const value = replica.component<StructValue>(entity, { name: component });
        if (value) all[component] = value;
      }
      held.set(id_text(entity), { name, parent: id_text(parent), components: all });
      assert.ok(same_entity(replica.get(entity)!.entity, entity));
    }
    assert.deepEqual(this.known, held);
  }
}
