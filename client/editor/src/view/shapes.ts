// The bodies of scene.Shape: centered, with width, height and depth 1.
import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  CapsuleGeometry,
  ConeGeometry,
  CylinderGeometry,
  SphereGeometry,
} from 'three';

export const shape_kinds = ['box', 'sphere', 'cylinder', 'capsule', 'cone'] as const;
export type ShapeKind = (typeof shape_kinds)[number];

/** Radius of the bounding sphere. */
export const shape_radius: Record<ShapeKind, number> = {
  box: Math.sqrt(3) / 2,
  sphere: 0.5,
  cylinder: Math.SQRT1_2,
  capsule: 0.5,
  cone: Math.SQRT1_2,
};

const made = new Map<ShapeKind, BufferGeometry>();

/**
 * Returns a shared geometry, which must not be changed. It has few triangles, because there may be
 * 100,000 of each. A capsule has the attribute `ends`, the direction in which its halves move when
 * stretched.
 */
export function shape_geometry(kind: ShapeKind): BufferGeometry {
  let geometry = made.get(kind);
  if (!geometry) made.set(kind, (geometry = make(kind)));
  return geometry;
}

function make(kind: ShapeKind): BufferGeometry {
  switch (kind) {
    case 'box':
      return new BoxGeometry();
    case 'sphere':
      return new SphereGeometry(0.5, 20, 12);
    case 'cylinder':
      return new CylinderGeometry(0.5, 0.5, 1, 24);
    case 'cone':
      return new ConeGeometry(0.5, 1, 24);
    case 'capsule':
      return capsule();
  }
}

/** Makes two hemispheres and the wall between them, whose height is zero unless stretched. */
function capsule(): BufferGeometry {
  const height = 0.5;
  const geometry = new CapsuleGeometry(0.5, height, 4, 14, 1);
  const positions = geometry.getAttribute('position') as BufferAttribute;
  const ends = new Float32Array(positions.count);
  for (let i = 0; i < positions.count; ++i) {
    const y = positions.getY(i);
    ends[i] = Math.sign(y);
    positions.setY(i, y - (ends[i] * height) / 2);
  }
  geometry.setAttribute('ends', new BufferAttribute(ends, 1));
  return geometry;
}
