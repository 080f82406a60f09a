import {
  ArrowUpRight,
  Bot,
  Box,
  Boxes,
  Camera,
  Check,
  ChevronDown,
  ChevronRight,
  Circle,
  CircleAlert,
  Clipboard,
  Cone,
  Copy,
  CopyPlus,
  Cylinder,
  Ellipsis,
  Eraser,
  Focus,
  Folder,
  Lightbulb,
  ListTree,
  Lock,
  Package,
  Pause,
  Pencil,
  Pill,
  Play,
  Plus,
  Redo2,
  RotateCcw,
  Save,
  Search,
  Send,
  Square,
  StepForward,
  Trash2,
  Undo2,
  Unplug,
  X,
} from 'lucide';
import type { JSX } from 'preact';

type Node = [string, Record<string, string | number | undefined>][];

const nodes = {
  'arrow-up-right': ArrowUpRight,
  bot: Bot,
  box: Box,
  boxes: Boxes,
  camera: Camera,
  check: Check,
  'chevron-down': ChevronDown,
  'chevron-right': ChevronRight,
  circle: Circle,
  alert: CircleAlert,
  clipboard: Clipboard,
  cone: Cone,
  sphere: [
    ['circle', { cx: 12, cy: 12, r: 10 }],
    ['path', { d: 'M2 12c0 5 20 5 20 0' }],
  ],
  copy: Copy,
  duplicate: CopyPlus,
  cylinder: Cylinder,
  more: Ellipsis,
  eraser: Eraser,
  frame: Focus,
  folder: Folder,
  light: Lightbulb,
  tree: ListTree,
  lock: Lock,
  template: Package,
  pause: Pause,
  pencil: Pencil,
  capsule: Pill,
  play: Play,
  plus: Plus,
  redo: Redo2,
  reset: RotateCcw,
  save: Save,
  search: Search,
  send: Send,
  step: StepForward,
  stop: Square,
  trash: Trash2,
  undo: Undo2,
  unplug: Unplug,
  close: X,
} as unknown as Record<string, Node>;

/** Draws an icon in the color of the surrounding text. An unknown name leaves the space empty. */
export function Icon({ name, size = 16 }: { name: string; size?: number }): JSX.Element {
  return (
    <svg class="icon" data-icon={name} width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      {(nodes[name] ?? []).map(([tag, given]) => {
        const Tag = tag as 'path';
        return <Tag {...(given as Record<string, string>)} />;
      })}
    </svg>
  );
}
