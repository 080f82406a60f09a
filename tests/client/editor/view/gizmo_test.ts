import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Matrix4, PerspectiveCamera, Quaternion, Vector3 } from 'three';
import type { Contents, TransformValue } from '../../../../client/editor/src/view/contents.js';
import { axis_names, gizmo_parts, handle_at } from '../../../../client/editor/src/view/gizmo.js';
import type { GizmoFrame, Handle, Tool } from '../../../../client/editor/src/view/gizmo.js';
import { applied, GizmoDrag, to_step } from '../../../../client/editor/src/view/gizmo_drag.js';
import { knob_at, lamp_knobs, pulled } from '../../../../client/editor/src/view/lamp_knobs.js';
import { Sight } from '../../../../client/editor/src/view/sight.js';
import type { Point } from '../../../../client/editor/src/view/sight.js';

const steps = { move: 0.5, turn: 15, scale: 0.1 };

function sight_from(x: number, y: number, z: number): Sight {
  const camera = new PerspectiveCamera(50, 2, 0.1, 1000);
  camera.position.set(x, y, z);
  camera.lookAt(0, 0, 0);
  camera.updateMatrixWorld();
  return new Sight(camera, 1200, 600);
}
function world_frame(x = 0, y = 0, z = 0): GizmoFrame {
  return { origin: new Vector3(x, y, z), axes: [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)] };
}
const still: TransformValue = {
  position: { x: 0, y: 0, z: 0 },
  rotation: { x: 0, y: 0, z: 0, w: 1 },
  scale: { x: 1, y: 1, z: 1 },
};
const close = (a: number, b: number, within = 1e-4): void => assert.ok(Math.abs(a - b) < within, `${a}, not ${b}`);
const close_to = (a: { x: number; y: number; z: number }, x: number, y: number, z: number): void => {
  close(a.x, x);
  close(a.y, y);
  close(a.z, z);
};
function drag(
  tool: Tool,
  handle: Handle,
  sight: Sight,
  from: Point,
  frame = world_frame(),
  is_world = true,
): GizmoDrag {
  return new GizmoDrag(tool, handle, frame, sight, from, is_world);
}

test('each arrow, box and ring is grabbed where it is drawn', () => {
  const sight = sight_from(5, 4, 7);
  for (const tool of ['move', 'scale'] as const) {
    const parts = gizmo_parts(tool, world_frame(), sight);
    for (const axis of axis_names) {
      const part = parts.find(({ handle }) => handle === axis)!;
      assert.ok(part.form === 'arrow' || part.form === 'stick');
      assert.equal(handle_at(parts, part.to), axis);
      assert.equal(handle_at(parts, { x: (part.to.x + part.from.x) / 2, y: (part.to.y + part.from.y) / 2 }), axis);
    }
  }
  const rings = gizmo_parts('rotate', world_frame(), sight);
  for (const axis of axis_names) {
    const part = rings.find(({ handle }) => handle === axis)!;
    assert.ok(part.form === 'ring');
    const front = part.line.filter((point) => point.front);
    const found = new Set(front.map((point) => handle_at(rings, point)));
    assert.ok(found.has(axis));
  }
  assert.equal(handle_at(rings, { x: 5, y: 5 }), null);
});

test('handles are as large in the picture, near and far, and none is left behind the camera', () => {
  const size = (distance: number): number => {
    const sight = sight_from(0, 0, distance);
    const part = gizmo_parts('move', world_frame(), sight).find(({ handle }) => handle === 'x')!;
    assert.ok(part.form === 'arrow');
    return part.to.x - sight.project(new Vector3()).x;
  };
  close(size(3), size(300), 0.5);
  assert.deepEqual(gizmo_parts('move', world_frame(0, 0, 20), sight_from(0, 0, 10)), []);
});

test('an arrow that points at the eye cannot be grabbed', () => {
  const sight = sight_from(0, 0.01, 10);
  const parts = gizmo_parts('move', world_frame(), sight);
  assert.ok(parts.find(({ handle }) => handle === 'z')!.clear < 0.2);
  assert.ok(parts.find(({ handle }) => handle === 'x')!.clear > 0.9);
});

test('along an axis a thing goes as far as the pointer does, and only there', () => {
  const sight = sight_from(5, 4, 7);
  const to = sight.project(new Vector3(2.5, 0, 0));
  const dragged = drag('move', 'x', sight, sight.project(new Vector3(1, 0, 0))).to(to, null);
  close_to(dragged.move, 1.5, 0, 0);
  assert.deepEqual(dragged.text, [{ axis: 'x', value: '+1.50 m' }]);
});

test('in a plane a thing stays under the pointer', () => {
  const sight = sight_from(5, 4, 7);
  const dragged = drag('move', 'zx', sight, sight.project(new Vector3(0.2, 0, 0.2))).to(
    sight.project(new Vector3(1.2, 0, -0.8)),
    null,
  );
  close_to(dragged.move, 1, 0, -1);
});

test('with steps a move ends on the grid in the world, and is a multiple of the step along own axes', () => {
  const sight = sight_from(5, 4, 7);
  const frame = world_frame(0.3, 0, 0);
  const from = sight.project(new Vector3(0.3, 0, 0));
  const to = sight.project(new Vector3(1.4, 0, 0));
  close(drag('move', 'x', sight, from, frame, true).to(to, steps).move.x + 0.3, 1.5);
  close(drag('move', 'x', sight, from, frame, false).to(to, steps).move.x, 1);
});

test('a turn goes on beyond half and whole turns', () => {
  const sight = sight_from(0, 10, 0.001);
  const around = (degrees: number): Point => {
    const turn = (degrees * Math.PI) / 180;
    return sight.project(new Vector3(Math.cos(turn), 0, -Math.sin(turn)));
  };
  const turning = drag('rotate', 'y', sight, around(0));
  let dragged = turning.to(around(10), null);
  for (let degrees = 20; degrees <= 450; degrees += 10) dragged = turning.to(around(degrees), null);
  close((dragged.angle * 180) / Math.PI, 450, 0.01);
  assert.deepEqual(dragged.text, [{ axis: 'y', value: '+450.0°' }]);
  assert.deepEqual(turning.to(around(457), steps).text, [{ axis: 'y', value: '+450.0°' }]);
});

test('a ring that is seen from its edge turns all the same', () => {
  const sight = sight_from(0, 0, 10);
  const center = sight.project(new Vector3());
  const dragged = drag('rotate', 'y', sight, center).to({ x: center.x + 84, y: center.y }, null);
  close(Math.abs(dragged.angle), 1, 0.05);
});

test('a thing grows along the axis that is pulled, in steps where they are asked for', () => {
  const sight = sight_from(5, 4, 7);
  const pulled = drag('scale', 'y', sight, sight.project(new Vector3(0, 1, 0)));
  close_to(pulled.to(sight.project(new Vector3(0, 1.52, 0)), null).factors, 1, 1.52, 1);
  close_to(pulled.to(sight.project(new Vector3(0, 1.52, 0)), steps).factors, 1, 1.5, 1);
  const all = drag('scale', 'all', sight, { x: 600, y: 300 }).to({ x: 740, y: 300 }, null).factors;
  close_to(all, Math.E, Math.E, Math.E);
});

test('nothing shrinks to nothing', () => {
  const sight = sight_from(5, 4, 7);
  const dragged = drag('scale', 'y', sight, sight.project(new Vector3(0, 1, 0))).to(
    sight.project(new Vector3(0, -3, 0)),
    null,
  );
  assert.ok(dragged.factors.y > 0);
});

test('a move in the world is what it has to be in a parent that is turned and scaled', () => {
  const parent = new Matrix4().compose(
    new Vector3(1, 2, 3),
    new Quaternion(0, Math.SQRT1_2, 0, Math.SQRT1_2),
    new Vector3(2, 2, 2),
  );
  const before = { ...still, position: { x: 1, y: 0, z: 0 } };
  const place = new Vector3(1, 0, 0).applyMatrix4(parent);
  const frame = world_frame(place.x, place.y, place.z);
  const sight = sight_from(5, 4, 9);
  const dragged = drag('move', 'x', sight, sight.project(place), frame).to(
    sight.project(place.clone().add(new Vector3(2, 0, 0))),
    null,
  );
  const after = applied({ before, parent }, dragged, frame, true);
  const moved = new Vector3(after.position.x, after.position.y, after.position.z).applyMatrix4(parent).sub(place);
  close_to(moved, 2, 0, 0);
  assert.deepEqual(after.scale, before.scale);
});

test('a turn in the world is about the world’s axis, whatever the parent’s rotation', () => {
  const turned = new Quaternion(0.3, 0.2, -0.1, 0.9).normalize();
  const parent = new Matrix4().compose(new Vector3(), turned, new Vector3(1, 1, 1));
  const own = new Quaternion(0.1, -0.4, 0.2, 0.8).normalize();
  const before = { ...still, rotation: { x: own.x, y: own.y, z: own.z, w: own.w } };
  const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), 0.7);
  const dragged = { move: new Vector3(), turn, factors: new Vector3(1, 1, 1), text: [], angle: 0.7 };
  const { rotation } = applied({ before, parent }, dragged, world_frame(), true)!;
  const found = turned.clone().multiply(new Quaternion(rotation.x, rotation.y, rotation.z, rotation.w));
  const wanted = turn.clone().multiply(turned).multiply(own);
  close(Math.abs(found.dot(wanted)), 1);
});

test('below a mirrored parent a turn in the world goes the way the hand goes, and boxes scale the axis they lie on', () => {
  const turned = new Quaternion(0.3, 0.2, -0.1, 0.9).normalize();
  const own = new Quaternion(0.1, -0.4, 0.2, 0.8).normalize();
  const before = { ...still, rotation: { x: own.x, y: own.y, z: own.z, w: own.w } };
  for (const mirror of [new Vector3(1, 1, -1), new Vector3(-1, 1, 1), new Vector3(2, -2, 2), new Vector3(-1, -1, -1)])
    for (const axis of [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0.6, 0, 0.8)]) {
      const parent = new Matrix4().compose(new Vector3(), turned, mirror);
      const turn = new Quaternion().setFromAxisAngle(axis, 0.7);
      const dragged = { move: new Vector3(), turn, factors: new Vector3(1, 1, 1), text: [], angle: 0.7 };
      const { rotation } = applied({ before, parent }, dragged, world_frame(), true)!;
      const matrix = (of: Quaternion): Matrix4 => parent.clone().multiply(new Matrix4().makeRotationFromQuaternion(of));
      const found = matrix(new Quaternion(rotation.x, rotation.y, rotation.z, rotation.w));
      const wanted = new Matrix4().makeRotationFromQuaternion(turn).multiply(matrix(own));
      found.elements.forEach((each, i) => close(each, wanted.elements[i]));
    }
});

test('in a space that a scale of 0 makes flat nothing can be dragged', () => {
  const parent = new Matrix4().makeScale(1, 0, 1);
  const dragged = { move: new Vector3(1, 0, 0), turn: new Quaternion(), factors: new Vector3(1, 1, 1), text: [], angle: 0 };
  assert.equal(applied({ before: still, parent }, dragged, world_frame(), true), null);
});

test('several things turn and grow about their common middle', () => {
  const dragged = {
    move: new Vector3(),
    turn: new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), Math.PI / 2),
    factors: new Vector3(1, 1, 1),
    text: [],
    angle: Math.PI / 2,
  };
  const left = applied(
    { before: { ...still, position: { x: -1, y: 0, z: 0 } }, parent: null },
    dragged,
    world_frame(),
    false,
  );
  close_to(left.position, 0, 0, 1);
  const grown = { ...dragged, turn: new Quaternion(), factors: new Vector3(2, 2, 2) };
  const right = applied(
    { before: { ...still, position: { x: 1, y: 0, z: 0 } }, parent: null },
    grown,
    world_frame(),
    false,
  );
  close_to(right.position, 2, 0, 0);
  close_to(right.scale, 2, 2, 2);
});

test('steps round to the nearest', () => {
  assert.equal(to_step(0.74, 0.5), 0.5);
  assert.equal(to_step(0.76, 0.5), 1);
  assert.equal(to_step(-0.76, 0.5), -1);
  assert.equal(to_step(0.3, 0), 0.3);
});

test('with steps a thing goes along what was grabbed alone, however far off the grid it is', () => {
  const sight = sight_from(5, 4, 7);
  const frame = world_frame(0.3, 0.3, 0.3);
  const at = (x: number, y: number, z: number): Point => sight.project(new Vector3(x, y, z));
  const along = drag('move', 'x', sight, at(0.3, 0.3, 0.3), frame).to(at(1.4, 0.3, 0.3), steps);
  close_to(along.move, 1.2, 0, 0);
  assert.deepEqual(along.text, [{ axis: 'x', value: '+1.20 m' }]);
  const plane = drag('move', 'zx', sight, at(0.3, 0.3, 0.3), frame).to(at(1.4, 0.3, -0.8), steps);
  close_to(plane.move, 1.2, 0, -1.3);
  assert.deepEqual(plane.text.map(({ axis }) => axis), ['x', 'z']);
  const free = drag('move', 'view', sight, at(0.3, 0.3, 0.3), frame).to(at(0.3, 0.3, 0.3), steps);
  close_to(free.move, 0.2, 0.2, 0.2);
  assert.equal(free.text.length, 3);
});

test('where the pointer is beside the plane a thing is dragged in, it stays where it is', () => {
  const sight = sight_from(5, 4, 7);
  const from = sight.project(new Vector3(0.2, 0, 0.2));
  const dragged = drag('move', 'zx', sight, from).to({ x: from.x, y: -4000 }, null); // up in the sky
  close_to(dragged.move, 0, 0, 0);
  assert.deepEqual(dragged.text, []);
});

test('what is said of a drag has the sign of where it goes, and none where it goes nowhere', () => {
  const sight = sight_from(5, 4, 7);
  const at = (x: number): Point => sight.project(new Vector3(x, 0, 0));
  const said = (tool: Tool, handle: Handle, from: Point, to: Point): string[] => drag(tool, handle, sight, from).to(to, null).text.map(({ axis, value }) => `${axis} ${value}`);
  assert.deepEqual(said('move', 'x', at(1), at(2.5)), ['x +1.50 m']);
  assert.deepEqual(said('move', 'x', at(1), at(-0.5)), ['x −1.50 m']);
  assert.deepEqual(said('move', 'x', at(1), at(1)), ['x 0.00 m']);
  assert.deepEqual(said('scale', 'x', at(1), at(2)), ['x ×2.00']);
  assert.deepEqual(said('scale', 'x', at(1), at(0.05)), ['x ×0.050']);
});

test('knobs of a light are at its range and its cone, and give the values of where they are pulled to', () => {
  const sight = sight_from(3, 12, 5);
  const entity = { index: 1, generation: 1 };
  const place = new Matrix4().compose(new Vector3(1, 2, -1), new Quaternion(0, Math.SQRT1_2, 0, Math.SQRT1_2), new Vector3(2, 2, 2));
  const knobs = (light: object) => {
    const records = [{ components: { 'scene.Light': { range: 4, inner_angle: 30, outer_angle: 80, ...light } } }];
    const contents = { slot: () => 0, is_locked: () => false, matrix: () => place, records } as unknown as Contents;
    return lamp_knobs(contents, [entity], sight);
  };
  const value_at = (knob: ReturnType<typeof knobs>[number], at: Vector3, by: typeof steps | null = null): number =>
    pulled(knob, sight.ray(sight.project(at)), by)!;
  const [point] = knobs({ kind: 0 });
  close(point.at.distanceTo(point.origin), 4);
  close(value_at(point, point.at), 4);
  close(value_at(point, point.origin.clone().addScaledVector(point.axis, 5.2)), 5.2);
  close(value_at(point, point.origin.clone().addScaledVector(point.axis, 5.2), steps), 5);
  const spot = knobs({ kind: 1 });
  assert.deepEqual(spot.map(({ field }) => field), ['range', 'outer_angle', 'inner_angle']);
  close_to(spot[0].at, -3, 2, -1); // along -Z, which is turned to -X; scale does not count
  spot.forEach((knob, i) => {
    close(knob.at.distanceTo(knob.origin), 4);
    close(value_at(knob, knob.at), [4, 80, 30][i], 1e-3);
    assert.equal(knob_at(spot, sight, sight.project(knob.at))?.field, knob.field);
  });
  close(value_at(spot[1], spot[2].at), 30, 1e-3);
  close(value_at(spot[1], spot[1].at, steps), 75);
  assert.deepEqual(knobs({ kind: 2 }), []);
  close(knobs({ kind: 0, range: 0 })[0].at.distanceTo(new Vector3(1, 2, -1)), 3);
});
