// Light from all directions, so that metallic materials of models have something to reflect.
import {
  BackSide,
  BoxGeometry,
  Mesh,
  MeshBasicMaterial,
  PMREMGenerator,
  Scene,
  ShaderMaterial,
  SphereGeometry,
} from 'three';
import type { Texture, WebGLRenderer } from 'three';

export function studio_light(renderer: WebGLRenderer): Texture {
  const scene = new Scene();
  const dome = new Mesh(
    new SphereGeometry(10, 24, 12),
    new ShaderMaterial({
      side: BackSide,
      vertexShader:
        'varying vec3 way; void main() { way = position; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }',
      fragmentShader: `varying vec3 way;
        void main() {
          float up = normalize(way).y;
          vec3 color = up > 0.0 ? mix(vec3(0.62, 0.66, 0.72), vec3(0.95, 1.0, 1.1), up) : mix(vec3(0.42, 0.40, 0.38), vec3(0.16), -up);
          gl_FragColor = vec4(color, 1.0);
        }`,
    }),
  );
  scene.add(dome);
  for (const [x, y, z, size, strength] of [
    [5, 6, 4, 3, 9],
    [-6, 4, 2, 2, 4],
    [0, 3, -7, 3, 3],
  ]) {
    const lamp = new Mesh(new BoxGeometry(size, 0.1, size), new MeshBasicMaterial());
    lamp.material.color.setScalar(strength);
    lamp.position.set(x, y, z);
    lamp.lookAt(0, 0, 0);
    lamp.rotateX(Math.PI / 2);
    scene.add(lamp);
  }
  const generator = new PMREMGenerator(renderer);
  const { texture } = generator.fromScene(scene, 0.03);
  generator.dispose();
  scene.traverse((each) => {
    if (each instanceof Mesh) {
      each.geometry.dispose();
      each.material.dispose();
    }
  });
  return texture;
}
