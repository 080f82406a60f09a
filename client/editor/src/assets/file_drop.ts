// Files that are dropped on the page.
import type { Model } from '../model/model.js';
import type { Ui } from '../panels/ui.js';
import { store_files } from './asset_actions.js';
import type { GivenFile } from './asset_actions.js';

/**
 * Disables dragging text and images. Stores dropped files as assets, and adds models that are
 * dropped into the viewport.
 */
export function take_drops(model: Model, ui: Ui): void {
  addEventListener('dragstart', (event) => event.preventDefault());
  addEventListener('dragover', (event) => {
    const { dataTransfer: brought } = event;
    if (!has_files(event) && is_in_field(event)) return;
    event.preventDefault();
    if (brought) brought.dropEffect = has_files(event) && model.may_edit.peek() ? 'copy' : 'none';
  });
  addEventListener('drop', (event) => {
    if (!has_files(event) && is_in_field(event)) return;
    event.preventDefault(); // or the browser would leave the page
    if (!has_files(event)) return;
    const is_in_view = (event.target as HTMLElement | null)?.closest?.('.viewport') != null;
    const at = is_in_view ? { x: event.clientX, y: event.clientY } : undefined;
    void files_in(event.dataTransfer!).then((files) => {
      if (files.length > 0) void store_files(model, ui, files, at);
    });
  });
}

function has_files(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}
function is_in_field(event: DragEvent): boolean {
  return (event.target as HTMLElement | null)?.tagName === 'INPUT';
}

/** Returns the dropped files, and those in dropped folders. Must be called during the event. */
async function files_in(brought: DataTransfer): Promise<GivenFile[]> {
  const entries = [...brought.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0) return [...brought.files].map((file) => ({ path: file.name, file }));
  const files: GivenFile[] = [];
  for (const entry of entries) await add_files(entry, '', files);
  return files;
}

async function add_files(entry: FileSystemEntry, before: string, files: GivenFile[]): Promise<void> {
  if (entry.name.startsWith('.')) return;
  const path = before + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    files.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const each of some) await add_files(each, path + '/', files);
  }
}
