// The three axes in the corner of the viewport. A click on an axis looks along it.
import { Vector3 } from 'three';
import type { PerspectiveCamera } from 'three';
import type { Point } from './sight.js';

export interface AxisBall extends Point {
  axis: 0 | 1 | 2;
  /** True for the positive end of the axis. */
  positive: boolean;
  /** From -1 to 1; larger for balls closer to the camera. */
  near: number;
}

export const widget_arm_px = 32;
const ball_px = 12;

/** Returns the balls, farthest first. */
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

/** Returns the closest ball under a point, or null. */
export function ball_at(balls: readonly AxisBall[], point: Point): AxisBall | null {
  for (let i = balls.length - 1; i >= 0; --i)
    if (Math.hypot(point.x - balls[i].x, point.y - balls[i].y) <= ball_px) return balls[i];
  return null;
}

/** Returns yaw and pitch for a view from that side; null keeps the current value. */
export function look_from(axis: number, positive: boolean): { yaw: number | null; pitch: number } {
  if (axis === 1) return { yaw: null, pitch: positive ? Math.PI / 2 : -Math.PI / 2 };
  if (axis === 0) return { yaw: positive ? Math.PI / 2 : -Math.PI / 2, pitch: 0 };
  return { yaw: positive ? 0 : Math.PI, pitch: 0 };
}
