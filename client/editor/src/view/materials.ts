// Materials of bodies.
import {
  DoubleSide,
  FrontSide,
  MeshBasicMaterial,
  MeshDepthMaterial,
  MeshLambertMaterial,
  RGBADepthPacking,
} from 'three';
import type { Material, WebGLProgramParametersWithUniforms } from 'three';

/** Adds the halves of stretched bodies going apart, and each body's own alpha. */
export function with_extra<M extends Material>(material: M, stretched: boolean, clear: boolean): M {
  material.onBeforeCompile = (shader: WebGLProgramParametersWithUniforms): void => {
    const declared =
      'attribute vec2 extra;\n' +
      (stretched ? 'attribute float ends;\n' : '') +
      (clear ? 'varying float own_alpha;\n' : '');
    const done = (stretched ? 'transformed.y += ends * extra.y;\n' : '') + (clear ? 'own_alpha = extra.x;\n' : '');
    shader.vertexShader =
      declared + shader.vertexShader.replace('#include <begin_vertex>', '#include <begin_vertex>\n' + done);
    if (clear)
      shader.fragmentShader =
        'varying float own_alpha;\n' +
        shader.fragmentShader.replace(
          '#include <color_fragment>',
          '#include <color_fragment>\ndiffuseColor.a *= own_alpha;',
        );
    lift_black(shader);
  };
  material.customProgramCacheKey = () => `extra ${stretched} ${clear}`;
  return material;
}

/** Of shapes: colour and alpha are each body's own. */
export function body_material(stretched: boolean, clear: boolean): Material {
  const material = new MeshLambertMaterial({ transparent: clear, depthWrite: !clear, side: FrontSide });
  if (stretched || clear) return with_extra(material, stretched, clear);
  material.onBeforeCompile = lift_black;
  return material;
}

/** Black has a form, too. */
function lift_black(shader: WebGLProgramParametersWithUniforms): void {
  shader.fragmentShader = shader.fragmentShader.replace(
    '#include <lights_lambert_fragment>',
    'diffuseColor.rgb = max(diffuseColor.rgb, vec3(0.02));\n#include <lights_lambert_fragment>',
  );
}

export function shadow_material(stretched: boolean): Material | undefined {
  return stretched ? with_extra(new MeshDepthMaterial({ depthPacking: RGBADepthPacking }), true, false) : undefined;
}

/** Stripes for the box of a model that is on its way, or cannot be drawn. Its back faces are not
 *  drawn, so that a camera inside the box sees the rest of the world. */
export function sign_material(failed: boolean): Material {
  const material = new MeshLambertMaterial({
    transparent: true,
    depthWrite: false,
    side: FrontSide,
    color: failed ? 0xffa21f : 0x9aa7bb,
  });
  material.onBeforeCompile = (shader): void => {
    shader.fragmentShader = shader.fragmentShader.replace(
      '#include <color_fragment>',
      `#include <color_fragment>
      float stripe = abs(fract((gl_FragCoord.x + gl_FragCoord.y) / 14.0) - 0.5) * 2.0;
      diffuseColor.a = mix(0.16, ${failed ? '0.62' : '0.34'}, smoothstep(0.42, 0.58, stripe));`,
    );
  };
  material.customProgramCacheKey = () => `sign ${failed}`;
  return material;
}

/** Says in a picture of its own where bodies are. */
export function mask_material(stretched: boolean): Material {
  const material = new MeshBasicMaterial({ side: DoubleSide, toneMapped: false });
  return stretched ? with_extra(material, true, false) : material;
}
