// Materials of bodies.
import {
  DoubleSide,
  FrontSide,
  MeshBasicMaterial,
  MeshDepthMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
  RGBADepthPacking,
} from 'three';
import type { Material, Side, WebGLProgramParametersWithUniforms } from 'three';

/**
 * Adds support for stretched bodies, whose halves move apart, and for an alpha value per body. If
 * `surface`, metal, roughness and emission also differ per body.
 */
export function with_extra<M extends Material>(
  material: M,
  stretched: boolean,
  clear: boolean,
  surface = false,
): M {
  material.onBeforeCompile = (shader: WebGLProgramParametersWithUniforms): void => {
    const declared =
      'attribute vec2 extra;\n' +
      (stretched ? 'attribute float ends;\n' : '') +
      (clear ? 'varying float own_alpha;\n' : '') +
      (surface ? 'attribute vec2 surface;\nattribute vec3 emission;\n' + surface_varyings : '');
    const done =
      (stretched ? 'transformed.y += ends * extra.y;\n' : '') +
      (clear ? 'own_alpha = extra.x;\n' : '') +
      (surface ? 'own_surface = surface;\nown_emission = emission;\n' : '');
    shader.vertexShader =
      declared + shader.vertexShader.replace('#include <begin_vertex>', '#include <begin_vertex>\n' + done);
    if (clear)
      shader.fragmentShader =
        'varying float own_alpha;\n' +
        shader.fragmentShader.replace(
          '#include <color_fragment>',
          '#include <color_fragment>\ndiffuseColor.a *= own_alpha;',
        );
    if (surface)
      shader.fragmentShader =
        surface_varyings +
        shader.fragmentShader
          .replace('#include <metalnessmap_fragment>', 'float metalnessFactor = own_surface.x;')
          .replace('#include <roughnessmap_fragment>', 'float roughnessFactor = own_surface.y;')
          .replace('#include <emissivemap_fragment>', 'totalEmissiveRadiance += own_emission;');
    lift_black(shader);
  };
  material.customProgramCacheKey = () => `extra ${stretched} ${clear} ${surface}`;
  return material;
}
const surface_varyings = 'varying vec2 own_surface;\nvarying vec3 own_emission;\n';

/** Makes a material for bodies with a scene.Material, all of whose values differ per body. */
export function surface_material(stretched: boolean, clear: boolean, side: Side = FrontSide): Material {
  const material = new MeshStandardMaterial({ transparent: clear, depthWrite: !clear, side });
  return with_extra(material, stretched, clear, true);
}

/** Makes a material for shapes, whose color and alpha differ per body. */
export function body_material(stretched: boolean, clear: boolean): Material {
  const material = new MeshLambertMaterial({ transparent: clear, depthWrite: !clear, side: FrontSide });
  if (stretched || clear) return with_extra(material, stretched, clear);
  material.onBeforeCompile = lift_black;
  return material;
}

/** Brightens black, so that its shading is visible. */
function lift_black(shader: WebGLProgramParametersWithUniforms): void {
  shader.fragmentShader = shader.fragmentShader.replace(
    '#include <lights_lambert_fragment>',
    'diffuseColor.rgb = max(diffuseColor.rgb, vec3(0.02));\n#include <lights_lambert_fragment>',
  );
}

export function shadow_material(stretched: boolean): Material | undefined {
  return stretched ? with_extra(new MeshDepthMaterial({ depthPacking: RGBADepthPacking }), true, false) : undefined;
}

/**
 * Stripes for the box of a model that is loading or cannot be drawn. Its back faces are not drawn,
 * so that a camera inside the box sees the rest of the world.
 */
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

/** Makes a material that marks the pixels of bodies in a separate picture. */
export function mask_material(stretched: boolean): Material {
  const material = new MeshBasicMaterial({ side: DoubleSide, toneMapped: false });
  return stretched ? with_extra(material, true, false) : material;
}
