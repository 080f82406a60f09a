import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedValues } from '../../../../client/editor/src/view/shared_values.js';
import type { ReplicaColumn } from '../../../../client/editor/src/view/world.js';

/** Rows of two words; the entity with index i has row i. */
class Column {
  bytes: Uint8Array;
  row_bytes = 8;
  read = 0;
  constructor(rows: number[][]) {
    this.bytes = new Uint8Array(new Uint32Array(rows.flat()).buffer);
  }
  row = (index: number): number => (index * 8 < this.bytes.length ? index : -1);
  entity = (row: number): object => ({ index: row, generation: 1 });
  get({ index }: { index: number }): object {
    ++this.read;
    return { words: [...new Uint32Array(this.bytes.buffer).subarray(2 * index, 2 * index + 2)] };
  }
  as_column(): ReplicaColumn {
    return this as unknown as ReplicaColumn;
  }
}

test('entities whose values have the same bytes share one object, and each has its own value', () => {
  const rows = Array.from({ length: 1000 }, (_, i) => [i % 3, 7]);
  rows.push([5, 8], [1, 7]);
  const column = new Column(rows);
  const shared = new SharedValues();
  rows.forEach((words, index) => assert.deepEqual(shared.get(column.as_column(), index), { words }));
  assert.equal(column.read, 4);
  assert.equal(shared.get(column.as_column(), 1), shared.get(column.as_column(), 4));
  assert.equal(shared.get(column.as_column(), 5000), undefined);
});

test('a value that changes, rows that grow and many different values are read as they are now', () => {
  const shared = new SharedValues();
  const column = new Column(Array.from({ length: 50 }, (_, i) => [i, i]));
  for (const _ of [1, 2])
    for (let i = 0; i < 50; ++i) assert.deepEqual(shared.get(column.as_column(), i), { words: [i, i] });
  new Uint32Array(column.bytes.buffer)[0] = 9;
  assert.deepEqual(shared.get(column.as_column(), 0), { words: [9, 0] });
  column.bytes = new Uint8Array(new Uint32Array([3, 4]).buffer);
  assert.deepEqual(shared.get(column.as_column(), 0), { words: [3, 4] });
  assert.deepEqual(shared.get(new Column([[6, 6]]).as_column(), 0), { words: [6, 6] });
});
