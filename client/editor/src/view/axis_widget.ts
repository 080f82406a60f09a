// The three axes in the corner: which way is which, and a click looks along one.
import { Vector3 } from 'three';
import type { PerspectiveCamera } from 'three';
import type { Point } from './sight.js';

export interface AxisBall extends Point {
  axis: 0 | 1 | 2;
  /** On the positive side. */
  positive: boolean;
  /** Nearer ones are larger; -1 to 1. */
  near: number;
}

export const widget_arm_px = 32;
const ball_px = 12;

/** Far ones first. */
export function axis_balls(camera: PerspectiveCamera, center: Point): AxisBall[] {
  const balls: AxisBall[] = [];
  for (const axis of [0, 1, 2] as const)
    for (const positive of [true, false]) {
      const way = new Vector3().setComponent(axis, positive ? 1 : -1).transformDirection(camera.matrixWorldInverse);
      balls.push({
        axis,
        positive,
        near: way.z,
        x: center.x + way.x * widget_arm_px,
        y: center.y - way.y * widget_arm_px,
      });
    }
  return balls.sort((a, b) => a.near - b.near);
}

/** The nearest one under a point; null: none. */
export function ball_at(balls: readonly AxisBall[], point: Point): AxisBall | null {
  for (let i = balls.length - 1; i >= 0; --i)
    if (Math.hypot(point.x - balls[i].x, point.y - balls[i].y) <= ball_px) return balls[i];
  return null;
}

/** Yaw and pitch of the view of that side; null keeps the current one. */
export function look_from(axis: number, positive: boolean): { yaw: number | null; pitch: number } {
  if (axis === 1) return { yaw: null, pitch: positive ? Math.PI / 2 : -Math.PI / 2 };
  if (axis === 0) return { yaw: positive ? Math.PI / 2 : -Math.PI / 2, pitch: 0 };
  return { yaw: positive ? 0 : Math.PI, pitch: 0 };
}
