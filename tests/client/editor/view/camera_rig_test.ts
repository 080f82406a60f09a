import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Vector3 } from 'three';
import { look_from } from '../../../../client/editor/src/view/axis_widget.js';
import { CameraRig, looking } from '../../../../client/editor/src/view/camera_rig.js';
import { Sight } from '../../../../client/editor/src/view/sight.js';

function rig(): CameraRig {
  const made = new CameraRig();
  made.resize(800, 600);
  made.go({ target: new Vector3(1, 2, 3), distance: 10, yaw: 0.6, pitch: 0.4 }, 0, 0);
  return made;
}
const sight = (of: CameraRig): Sight => new Sight(of.camera, 800, 600);
const near = (a: Vector3, b: Vector3, within = 1e-4): void =>
  assert.ok(a.distanceTo(b) < within, `${a.toArray()} is not ${b.toArray()}`);

test('the camera looks at its target from its distance, upright', () => {
  const made = rig();
  near(made.forward(), looking(made.view));
  assert.ok(Math.abs(made.camera.position.distanceTo(made.view.target) - 10) < 1e-5);
  const seen = sight(made).project(made.view.target);
  assert.ok(Math.abs(seen.x - 400) < 0.01 && Math.abs(seen.y - 300) < 0.01);
});

test('zooming keeps what is under the pointer where it is in the picture', () => {
  const made = rig();
  const place = new Vector3(3, 0.5, 1);
  const before = sight(made).project(place);
  for (const factor of [0.8, 0.7, 1.9]) made.zoom(factor, place);
  const after = sight(made).project(place);
  assert.ok(Math.hypot(after.x - before.x, after.y - before.y) < 0.01);
});

test('panning takes what is at the target along with the pointer', () => {
  const made = rig();
  const place = made.view.target.clone();
  made.pan(60, -25, 600);
  const seen = sight(made).project(place);
  assert.ok(Math.abs(seen.x - 460) < 0.05 && Math.abs(seen.y - 275) < 0.05);
});

test('orbiting keeps the target in the middle and never goes over the top', () => {
  const made = rig();
  made.orbit(300, 5000);
  assert.ok(made.view.pitch <= Math.PI / 2);
  const seen = sight(made).project(new Vector3(1, 2, 3));
  assert.ok(Math.abs(seen.x - 400) < 0.01 && Math.abs(seen.y - 300) < 0.01);
});

test('turning the head leaves the eye where it is', () => {
  const made = rig();
  const eye = made.camera.position.clone();
  made.look(120, -40);
  near(made.camera.position, eye);
  near(made.forward(), looking(made.view));
});

test('flying goes where one looks, and up in the world', () => {
  const made = rig();
  const eye = made.camera.position.clone();
  made.fly(new Vector3(0, 0, -2));
  near(made.camera.position, eye.clone().addScaledVector(made.forward(), 2));
  made.fly(new Vector3(0, 3, 0));
  near(
    made.camera.position,
    eye
      .clone()
      .addScaledVector(made.forward(), 2)
      .add(new Vector3(0, 3, 0)),
  );
});

test('a framed sphere fits the picture, wide or narrow', () => {
  for (const [width, height] of [
    [1600, 500],
    [400, 900],
  ]) {
    const made = new CameraRig();
    made.resize(width, height);
    made.go({ target: new Vector3(5, 0, 0), distance: made.distance_for(2) }, 0, 0);
    const on = new Sight(made.camera, width, height);
    const e = made.camera.matrixWorld.elements;
    for (const side of [new Vector3(e[0], e[1], e[2]), new Vector3(e[4], e[5], e[6])])
      for (const sign of [-2, 2]) {
        const seen = on.project(new Vector3(5, 0, 0).addScaledVector(side, sign));
        assert.ok(seen.x >= 0 && seen.x <= width && seen.y >= 0 && seen.y <= height);
      }
  }
});

test('a flight ends where it was to go, on time, the short way around', () => {
  const made = rig();
  made.go({ yaw: 0.6 + 2 * Math.PI - 0.2, target: new Vector3(9, 9, 9), distance: 3 }, 250, 1000);
  assert.equal(made.step(1100), true);
  assert.ok(made.view.yaw > 0.39 && made.view.yaw < 0.6);
  assert.equal(made.step(1250), false);
  near(made.view.target, new Vector3(9, 9, 9));
  assert.ok(Math.abs(made.view.distance - 3) < 1e-9);
  assert.ok(Math.abs(made.view.yaw - 0.4) < 1e-9);
});

test('a hand on the camera ends its flight', () => {
  const made = rig();
  made.go({ distance: 100 }, 250, 0);
  made.step(50);
  made.orbit(5, 0);
  assert.equal(made.step(100), false);
  assert.ok(made.view.distance < 100);
});

test('looking from an axis looks back along it', () => {
  for (const axis of [0, 1, 2])
    for (const positive of [true, false]) {
      const { yaw, pitch } = look_from(axis, positive);
      const made = rig();
      made.go({ yaw: yaw ?? 0, pitch }, 0, 0);
      near(made.forward(), new Vector3().setComponent(axis, positive ? -1 : 1));
    }
});
