// Converts between the picture (CSS pixels from its top left) and the world (meters).
import { Matrix4, Plane, Vector3 } from 'three';
import type { PerspectiveCamera } from 'three';
import type { Ray } from './pick.js';

export interface Point {
  x: number;
  y: number;
}
export interface Projected extends Point {
  /** Meters in front of the camera; negative behind it. */
  depth: number;
}

export class Sight {
  constructor(
    readonly camera: PerspectiveCamera,
    readonly width: number,
    readonly height: number,
  ) {}

  /** Returns the matrix from world space to clip space. */
  matrix(): Matrix4 {
    return new Matrix4().multiplyMatrices(this.camera.projectionMatrix, this.camera.matrixWorldInverse);
  }

  project(at: Vector3): Projected {
    const seen = scratch.copy(at).applyMatrix4(this.camera.matrixWorldInverse);
    const depth = -seen.z;
    seen.applyMatrix4(this.camera.projectionMatrix);
    return { x: ((seen.x + 1) / 2) * this.width, y: ((1 - seen.y) / 2) * this.height, depth };
  }

  ray(point: Point): Ray {
    const origin = new Vector3().setFromMatrixPosition(this.camera.matrixWorld);
    const direction = new Vector3((point.x / this.width) * 2 - 1, 1 - (point.y / this.height) * 2, 0.5)
      .unproject(this.camera)
      .sub(origin)
      .normalize();
    return { origin, direction };
  }

  /** Returns the direction from the camera to a point. */
  way_to(at: Vector3): Vector3 {
    return at.clone().sub(scratch.setFromMatrixPosition(this.camera.matrixWorld)).normalize();
  }

  metres_per_pixel(at: Vector3): number {
    const depth = Math.max(this.project(at).depth, 1e-4);
    return (2 * depth * Math.tan((this.camera.fov * Math.PI) / 360)) / this.height;
  }
}

const scratch = new Vector3();

/** Returns the point where a ray meets a plane, or null if it does not. */
export function meet_plane(ray: Ray, on: Vector3, normal: Vector3): Vector3 | null {
  const along = ray.direction.dot(normal);
  if (Math.abs(along) < 1e-6) return null;
  const distance = new Plane().setFromNormalAndCoplanarPoint(normal, on).distanceToPoint(ray.origin) / -along;
  return distance > 0 ? ray.origin.clone().addScaledVector(ray.direction, distance) : null;
}

/**
 * Returns the position along an axis (a unit vector) that is closest to the ray, or null if they
 * are parallel.
 */
export function nearest_on_axis(ray: Ray, on: Vector3, axis: Vector3): number | null {
  const between = ray.origin.clone().sub(on);
  const slant = ray.direction.dot(axis);
  const rest = 1 - slant * slant;
  if (rest < 1e-6) return null;
  return (between.dot(axis) - slant * between.dot(ray.direction)) / rest;
}
