// The viewport's commands, for keys, menus and buttons.
import { look_from } from './axis_widget.js';
import type { Tool } from './gizmo.js';
import { pivots } from './hands.js';
import type { Stage } from './stage.js';
import type { ViewCommand } from './world.js';

export function view_commands(stage: Stage): ViewCommand[] {
  const tool = (id: Tool, title: string, key: string): ViewCommand => ({
    id: `view.tool.${id}`,
    title,
    keys: [key],
    group: 'view',
    checked: () => stage.hands.tool === id,
    run: () => (stage.hands.tool = id),
  });
  const align = (id: string, title: string, keys: string[], axis: number, positive: boolean): ViewCommand => ({
    id: `view.align.${id}`,
    title,
    keys,
    group: 'view',
    run: () => align_view(stage, axis, positive),
  });
  return [
    tool('none', 'Select only', 'q'),
    tool('move', 'Move', 'w'),
    tool('rotate', 'Rotate', 'e'),
    tool('scale', 'Scale', 'r'),
    {
      id: 'view.space',
      title: 'Local or world axes',
      keys: ['x'],
      group: 'view',
      checked: () => stage.hands.is_local,
      run: () => (stage.hands.is_local = !stage.hands.is_local),
    },
    {
      id: 'view.pivot',
      title: 'Turn and scale about: origins, middle, active, each',
      keys: ['p'],
      group: 'view',
      run: () => {
        const at = pivots.findIndex(([pivot]) => pivot === stage.hands.pivot);
        stage.hands.pivot = pivots[(at + 1) % pivots.length][0];
      },
    },
    {
      id: 'view.snap',
      title: 'Snap to increments',
      group: 'view',
      checked: () => stage.hands.snaps,
      run: () => (stage.hands.snaps = !stage.hands.snaps),
    },
    {
      id: 'view.frame',
      title: 'Frame the selection, or everything',
      keys: ['f'],
      group: 'view',
      run: () => stage.frame(stage.world.selection()),
    },
    {
      id: 'view.grid',
      title: 'Show the grid',
      group: 'view',
      checked: () => stage.has_grid,
      run: () => (stage.has_grid = !stage.has_grid),
    },
    {
      id: 'view.shadows',
      title: 'Show shadows',
      group: 'view',
      checked: () => stage.has_shadows,
      run: () => (stage.has_shadows = !stage.has_shadows),
    },
    {
      id: 'view.lights',
      title: "Show the light of the level's own lights",
      group: 'view',
      checked: () => stage.has_lights,
      run: () => (stage.has_lights = !stage.has_lights),
    },
    align('front', 'Look from the front', ['1'], 2, true),
    align('back', 'Look from behind', ['Shift+1'], 2, false),
    align('right', 'Look from the right', ['3'], 0, true),
    align('left', 'Look from the left', ['Shift+3'], 0, false),
    align('top', 'Look from above', ['7'], 1, true),
    align('bottom', 'Look from below', ['Shift+7'], 1, false),
  ];
}

/**
 * Looks at the target along an axis. From above and below, aligns the view with the closest axis.
 */
export function align_view(stage: Stage, axis: number, positive: boolean): void {
  const { yaw, pitch } = look_from(axis, positive);
  const quarter = Math.PI / 2;
  stage.rig.go(
    { yaw: yaw ?? Math.round(stage.rig.view.yaw / quarter) * quarter, pitch },
    calm() ? 0 : 220,
    performance.now(),
  );
  stage.ask();
}

export function calm(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}
