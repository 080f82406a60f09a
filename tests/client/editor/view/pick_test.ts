import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Matrix4, PerspectiveCamera, Vector3 } from 'three';
import { mirror, pick, within } from '../../../../client/editor/src/view/pick.js';
import type { Pickable } from '../../../../client/editor/src/view/pick.js';
import { shape_geometry, shape_radius } from '../../../../client/editor/src/view/shapes.js';
import type { ShapeKind } from '../../../../client/editor/src/view/shapes.js';
import { Sight } from '../../../../client/editor/src/view/sight.js';

function bodies(
  kind: ShapeKind,
  matrices: Matrix4[],
  options: { mirrored?: boolean; stretch?: number; both_sides?: boolean } = {},
): Pickable {
  const geometry = shape_geometry(kind);
  const flat = new Float32Array(matrices.length * 16);
  const spheres = new Float32Array(matrices.length * 4);
  matrices.forEach((matrix, i) => {
    const center = new Vector3().setFromMatrixPosition(matrix);
    spheres.set(
      [center.x, center.y, center.z, (shape_radius[kind] + (options.stretch ?? 0)) * matrix.getMaxScaleOnAxis()],
      i * 4,
    );
    flat.set((options.mirrored ? mirror(matrix.clone()) : matrix).elements, i * 16);
  });
  return {
    count: matrices.length,
    slots: Int32Array.from(matrices.keys()),
    spheres,
    matrices: flat,
    form: {
      positions: geometry.getAttribute('position').array,
      index: geometry.index!.array,
      ends: geometry.getAttribute('ends')?.array ?? null,
      both_sides: options.both_sides ?? false,
    },
    is_mirrored: options.mirrored ?? false,
    stretch: () => options.stretch ?? 0,
  };
}
const at = (x: number, y: number, z: number): Matrix4 => new Matrix4().makeTranslation(x, y, z);
const along = (x: number, y: number, z: number): Vector3 => new Vector3(x, y, z).normalize();

test('the nearest of several bodies is picked, and how far it is', () => {
  const found = pick({ origin: new Vector3(0, 0, 10), direction: along(0, 0, -1) }, [
    bodies('box', [at(0, 0, -5), at(0, 0, 3), at(0, 0, 0)]),
  ]);
  assert.equal(found?.row, 1);
  assert.ok(Math.abs(found.distance - 6.5) < 1e-6);
});

test('a sphere around a body is not the body: past its corner the next one is met', () => {
  const ray = { origin: new Vector3(0.6, 0, 10), direction: along(0, 0, -1) };
  assert.equal(pick(ray, [bodies('box', [at(0, 0, 0)])]), null);
  assert.equal(pick(ray, [bodies('box', [at(0, 0, 0), at(0.5, 0, -4)])])?.row, 1);
});

test('what lies behind the eye, or nearer than is drawn, is not picked', () => {
  const ray = { origin: new Vector3(0, 0, 0), direction: along(0, 0, -1) };
  assert.equal(pick(ray, [bodies('box', [at(0, 0, 5)])]), null);
  assert.equal(pick(ray, [bodies('box', [at(0, 0, -1)])], 2), null);
});

test('a body is not picked from its inside, unless both of its sides are drawn', () => {
  const ray = { origin: new Vector3(0, 0, 0), direction: along(0.2, 0.1, -1) };
  const large = new Matrix4().makeScale(4, 4, 4);
  assert.equal(pick(ray, [bodies('box', [large])]), null);
  assert.ok(pick(ray, [bodies('box', [large], { both_sides: true })]));
});

test('a mirrored body is picked where it is, from its outside', () => {
  const matrix = at(3, 0, 0).multiply(new Matrix4().makeScale(-1, 2, 1));
  const ray = { origin: new Vector3(3, 0.9, 10), direction: along(0, 0, -1) };
  const found = pick(ray, [bodies('box', [matrix], { mirrored: true })]);
  assert.ok(found && Math.abs(found.distance - 9.5) < 1e-6);
  assert.equal(
    pick({ origin: new Vector3(3, 0, 0), direction: along(0, 0, -1) }, [bodies('box', [matrix], { mirrored: true })]),
    null,
  );
});

test('a capsule is as high as it was stretched', () => {
  const ray = (y: number) => ({ origin: new Vector3(0, y, 10), direction: along(0, 0, -1) });
  const capsule = bodies('capsule', [at(0, 0, 0)], { stretch: 1 });
  assert.ok(pick(ray(1.4), [capsule]));
  assert.equal(pick(ray(1.6), [capsule]), null);
  assert.equal(pick(ray(0.6), [bodies('capsule', [at(0, 0, 0)])]), null);
});

test('a body of no volume is no trouble', () => {
  const flat = new Matrix4().makeScale(1, 0, 1);
  assert.equal(pick({ origin: new Vector3(0, 5, 0), direction: along(0, -1, 0) }, [bodies('box', [flat])]), null);
});

test('bodies at random, looked at from random places, are picked as a look at every triangle says', () => {
  let seed = 5;
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const kinds: ShapeKind[] = ['box', 'sphere', 'cylinder', 'cone'];
  const sets = kinds.map((kind) =>
    bodies(
      kind,
      [...Array(12)].map(() =>
        at(random() * 8 - 4, random() * 8 - 4, random() * 8 - 4)
          .multiply(new Matrix4().makeRotationX(random() * 6))
          .multiply(new Matrix4().makeScale(0.3 + random() * 2, 0.3 + random() * 2, 0.3 + random() * 2)),
      ),
    ),
  );
  const corner = (of: Pickable, row: number, i: number): Vector3 =>
    new Vector3()
      .fromArray(of.form.positions, of.form.index![i] * 3)
      .applyMatrix4(new Matrix4().fromArray(of.matrices, row * 16));
  let hits = 0;
  for (let n = 0; n < 60; ++n) {
    const origin = new Vector3(random() * 20 - 10, random() * 20 - 10, random() * 20 - 10);
    const direction = new Vector3(random() * 4 - 2, random() * 4 - 2, random() * 4 - 2).sub(origin).normalize();
    let nearest = Infinity;
    for (const set of sets)
      for (let row = 0; row < set.count; ++row)
        for (let i = 0; i < set.form.index!.length; i += 3) {
          const [a, b, c] = [0, 1, 2].map((k) => corner(set, row, i + k));
          const normal = b.clone().sub(a).cross(c.clone().sub(a));
          const slant = normal.dot(direction);
          if (slant >= -1e-12) continue;
          const far = normal.dot(a.clone().sub(origin)) / slant;
          const on = origin.clone().addScaledVector(direction, far);
          const inside = [
            [a, b],
            [b, c],
            [c, a],
          ].every(([p, q]) => q.clone().sub(p).cross(on.clone().sub(p)).dot(normal) >= 0);
          if (far > 0 && inside) nearest = Math.min(nearest, far);
        }
    const found = pick({ origin, direction }, sets);
    if (nearest < Infinity) ++hits;
    assert.equal(found !== null, nearest < Infinity, `ray ${n}`);
    if (found) assert.ok(Math.abs(found.distance - nearest) < 1e-4, `ray ${n}: ${found.distance}, not ${nearest}`);
  }
  assert.ok(hits > 15);
});

test('a ray through a pixel meets what is drawn there', () => {
  const camera = new PerspectiveCamera(50, 2, 0.1, 100);
  camera.position.set(4, 3, 6);
  camera.lookAt(0, 0, 0);
  camera.updateMatrixWorld();
  const sight = new Sight(camera, 800, 400);
  const place = new Vector3(1, -0.5, 0.25);
  const seen = sight.project(place);
  const ray = sight.ray(seen);
  const distance = place.distanceTo(ray.origin);
  assert.ok(ray.origin.clone().addScaledVector(ray.direction, distance).distanceTo(place) < 1e-4);
});

test('a rectangle of the picture holds what is drawn in it, and nothing behind the camera', () => {
  const camera = new PerspectiveCamera(50, 2, 0.1, 100);
  camera.position.set(0, 0, 10);
  camera.updateMatrixWorld();
  const sight = new Sight(camera, 800, 400);
  const whole = within({ left: 0, top: 0, right: 800, bottom: 400 }, sight.matrix(), 800, 400);
  assert.ok(whole(0, 0, 0));
  assert.ok(!whole(0, 0, 20));
  assert.ok(!whole(0, 0, 10));
  const seen = sight.project(new Vector3(1, 1, 0));
  const around = within(
    { left: seen.x - 3, top: seen.y - 3, right: seen.x + 3, bottom: seen.y + 3 },
    sight.matrix(),
    800,
    400,
  );
  assert.ok(around(1, 1, 0));
  assert.ok(!around(1.1, 1, 0));
  assert.ok(!around(1, -1, 0));
});
