// The assets of the world, as a list to add models from by click or drag.
import { useSignal } from '@preact/signals';
import type { Entity } from 'muster-client';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import type { Model } from '../model/model.js';
import { counted } from '../model/numbers.js';
import { usePage } from '../panels/context.js';
import { Icon } from '../parts/icon.js';
import { begin_list_drag } from '../parts/list_drag.js';
import { place_model, rename_asset, show_entities, store_files } from './asset_actions.js';
import { assets_folder } from './asset_files.js';
import type { AssetFile } from './asset_files.js';
import { asset_uses, by_path } from './asset_references.js';
import { is_gltf } from './gltf.js';
import './assets.css';

const shown_max = 500;
const looked_up_max = 500;

export function AssetList({ filter }: { filter: string }): JSX.Element {
  const { model, ui } = usePage();
  const renaming = useSignal('');
  const users = useUsers(model);
  const chooser = useRef<HTMLInputElement>(null);
  const { list, fault, is_cut, uploading } = model.assets;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const files = (list.value ?? []).filter(({ path }) => words.every((word) => path.toLowerCase().includes(word)));
  const missing = useMissing(model, users.value);
  const may = model.may_edit.value;
  if (list.value === null) return <p class="empty">{fault.value || 'Looking for files'}</p>;
  return (
    <div class="assets">
      <header class="run-edits-head">
        <p>
          {uploading.value !== ''
            ? `Uploading ${uploading.value}…`
            : fault.value || 'Drop files here to store them, or into the view to add models.'}
        </p>
        <button class="button is-small" disabled={!may} onClick={() => chooser.current?.click()}>
          Upload…
        </button>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            const given = [...(event.currentTarget.files ?? [])].map((file) => ({ path: file.name, file }));
            event.currentTarget.value = '';
            if (given.length > 0) void store_files(model, ui, given);
          }}
        />
      </header>
      {missing.value.length > 0 && (
        <ul class="assets-missing" aria-label="Missing files">
          {missing.value.map(({ path, why, entities }) => (
            <li key={path}>
              <Icon name="circle-alert" size={14} />
              <span>
                {path}: {why}
              </span>
              {entities.length > 0 && <UsersButton model={model} entities={entities} />}
            </li>
          ))}
        </ul>
      )}
      {list.value.length === 0 && <p class="empty">There are no files yet.</p>}
      {list.value.length > 0 && files.length === 0 && <p class="empty">No file matches.</p>}
      <ul class="asset-tiles" aria-label="Assets">
        {files.slice(0, shown_max).map((file) => (
          <li key={file.path} class="asset">
            <button
              class="asset-face"
              title={`${file.path}, ${size_text(file.bytes)}`}
              disabled={!may || !is_gltf(file.path)}
              onClick={() => void place_model(model, file.path)}
              onPointerDown={(event) => {
                if (is_gltf(file.path)) begin_list_drag(event, (at) => void place_model(model, file.path, at));
              }}
              onKeyDown={(event) => {
                if (event.key !== 'F2') return;
                event.stopPropagation();
                renaming.value = file.path;
              }}
            >
              <Picture model={model} file={file} />
              <span class="asset-name">{file.path.slice(assets_folder.length)}</span>
            </button>
            <span class="asset-tools">
              <UsersButton model={model} entities={users.value.get(file.path) ?? []} />
              <button
                class="in-field"
                aria-label={`Rename ${file.path}`}
                title="Rename"
                disabled={!may}
                onClick={() => (renaming.value = file.path)}
              >
                <Icon name="pencil" size={14} />
              </button>
            </span>
            {renaming.value === file.path && (
              <NameField
                path={file.path}
                done={(to) => {
                  renaming.value = '';
                  if (to !== null) void rename_asset(model, file.path, to);
                }}
              />
            )}
          </li>
        ))}
      </ul>
      {(files.length > shown_max || is_cut.value) && (
        <p class="empty">There are more files. Type parts of a name to find one.</p>
      )}
    </div>
  );
}

function UsersButton({ model, entities }: { model: Model; entities: readonly Entity[] }): JSX.Element {
  if (entities.length === 0) return <></>;
  return (
    <button class="link" title="Select the entities that use it" onClick={() => show_entities(model, entities)}>
      {counted(entities.length)} {entities.length === 1 ? 'use' : 'uses'}
    </button>
  );
}

function NameField({ path, done }: { path: string; done(to: string | null): void }): JSX.Element {
  const suffix = path.slice(path.lastIndexOf('.'));
  const before = path.slice(assets_folder.length, -suffix.length);
  const is_over = useRef(false);
  const end = (to: string | null): void => {
    if (is_over.current) return;
    is_over.current = true;
    done(to);
  };
  const typed = (field: HTMLInputElement): string | null => {
    const text = field.value.trim();
    return text === '' || text === before ? null : assets_folder + text + suffix;
  };
  return (
    <input
      class="asset-rename"
      type="text"
      aria-label={`New name of ${path}`}
      spellcheck={false}
      autofocus
      ref={(field) => {
        if (field && document.activeElement !== field && !is_over.current) field.focus();
      }}
      defaultValue={before}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={(event) => end(typed(event.currentTarget))}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') end(typed(event.currentTarget));
        if (event.key === 'Escape') end(null);
      }}
    />
  );
}

/** Shows a picture of a file, as soon as the file is in sight. */
function Picture({ model, file }: { model: Model; file: AssetFile }): JSX.Element {
  const box = useRef<HTMLSpanElement>(null);
  const image = useSignal('');
  const portray = model.assets.portray.value;
  const is_picture = /\.(png|jpe?g|webp)$/i.test(file.path);
  useEffect(() => {
    let is_over = false;
    let url = '';
    const draw = async (): Promise<string> => {
      if (is_picture) return (url = URL.createObjectURL(new Blob([await model.fetch_file(file.path)])));
      return is_gltf(file.path) && portray ? portray(file.path) : '';
    };
    const sight = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      sight.disconnect();
      draw().then(
        (made) => {
          if (!is_over) image.value = made;
        },
        () => {}, // the icon stays
      );
    });
    sight.observe(box.current!);
    return () => {
      is_over = true;
      sight.disconnect();
      if (url !== '') URL.revokeObjectURL(url);
    };
  }, [file.path, file.tag, portray]);
  return (
    <span ref={box} class="asset-picture">
      {image.value !== '' ? (
        <img src={image.value} alt="" draggable={false} />
      ) : (
        <Icon name={is_picture ? 'eye' : is_gltf(file.path) ? 'boxes' : 'box'} size={24} />
      )}
    </span>
  );
}

/** Returns which entities use which files. */
function useUsers(model: Model): { value: ReadonlyMap<string, readonly Entity[]> } {
  const users = useSignal<ReadonlyMap<string, readonly Entity[]>>(new Map());
  const client = model.client.value;
  const { list } = model.assets;
  const newest = model.edits.acknowledged.value;
  useEffect(() => {
    let is_over = false;
    const look = async (): Promise<void> => {
      const uses = client ? await asset_uses(model, client) : [];
      if (!is_over) users.value = by_path(uses);
    };
    // A lost line is told elsewhere.
    const timer = setTimeout(() => void look().catch(() => {}), 300);
    return () => {
      is_over = true;
      clearTimeout(timer);
    };
  }, [client, list.value, newest, model.structure_version.value]);
  return users;
}

interface Missing {
  path: string;
  why: string;
  entities: readonly Entity[];
}
/** Returns the files that entities or models need and that cannot be read. */
function useMissing(model: Model, users: ReadonlyMap<string, readonly Entity[]>): { value: readonly Missing[] } {
  const missing = useSignal<readonly Missing[]>([]);
  const unread = model.assets.unread.value;
  const files = model.assets.list.value;
  useEffect(() => {
    let is_over = false;
    const look = async (): Promise<void> => {
      const found: Missing[] = [];
      const paths = [...users.keys()].filter((path) => !model.assets.has(path)).slice(0, looked_up_max);
      for (const path of paths) {
        const why = await model.why_no_file(path);
        if (why !== '') found.push({ path, why, entities: users.get(path)! });
      }
      for (const [path, why] of unread)
        if (!found.some((each) => each.path === path)) found.push({ path, why, entities: users.get(path) ?? [] });
      if (!is_over) missing.value = found;
    };
    void look().catch(() => {});
    return () => void (is_over = true);
  }, [users, unread, files]);
  return missing;
}

function size_text(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
