import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { DiskBand, LinkBand, NoticeList, Overlays } from './bands.js';
import { Console } from './console.js';
import { usePage } from './context.js';
import { Inspector } from './inspector.js';
import { StatusBar } from './status_bar.js';
import { TopBar } from './top_bar.js';
import { TreePanel } from './tree.js';
import type { Ui } from './ui.js';

export function App(): JSX.Element {
  const { model, ui } = usePage();
  const root = useRef<HTMLDivElement>(null);
  const { tree, inspector, console: lower } = ui.sizes.value;
  useEffect(() => {
    const style = root.current!.style;
    style.setProperty('--tree', `${tree}px`);
    style.setProperty('--inspector', `${inspector}px`);
    style.setProperty('--console', `${lower}px`);
  }, [tree, inspector, lower]);
  const is_editable = model.may_edit.value;
  const is_picking = model.picking.value !== null;
  return (
    <div ref={root} class={`page ${is_editable ? '' : 'is-fixed-page'} ${model.run.playing.value ? 'is-run' : ''} ${is_picking ? 'is-picking' : ''}`}>
      <TopBar />
      <LinkBand />
      <DiskBand />
      <main class="middle">
        <TreePanel />
        <Splitter which="tree" label="Width of the tree" />
        <div class="center">
          <ViewportHost />
          <Splitter which="console" label="Height of the console" />
          <Console />
        </div>
        <Splitter which="inspector" label="Width of the inspector" />
        <Inspector />
      </main>
      <StatusBar />
      <NoticeList />
      <Overlays />
      <AssetPaths />
    </div>
  );
}

/** The choices of fields that name files. */
function AssetPaths(): JSX.Element {
  const { model } = usePage();
  return (
    <datalist id="asset-paths">
      {(model.assets.list.value ?? []).map(({ path }) => (
        <option key={path} value={path} />
      ))}
    </datalist>
  );
}

/** The viewport's place. The viewport itself is loaded after the rest is on screen. */
function ViewportHost(): JSX.Element {
  const { model } = usePage();
  const host = useRef<HTMLDivElement>(null);
  const [why, set_why] = useState<string | null>(null);
  useEffect(() => {
    let view: { dispose(): void } | undefined;
    let is_over = false;
    import('../view/viewport.js')
      .then(({ mount_viewport }) => {
        if (!is_over) view = mount_viewport(host.current!, model);
      })
      .catch((error: Error) => {
        model.log.problem(`the viewport cannot be shown: ${error.message}`);
        set_why(
          /WebGL/i.test(error.message)
            ? 'This browser has no WebGL 2, or it is switched off.'
            : 'The log below gives the reason.',
        );
      });
    return () => {
      is_over = true;
      view?.dispose();
    };
  }, []);
  return (
    <section ref={host} class="viewport" aria-label="Viewport">
      {why !== null && (
        <div class="viewport-missing" role="status">
          <b>The viewport is not available</b>
          <p>{why} The tree, the inspector and everything else work.</p>
        </div>
      )}
    </section>
  );
}

type Which = Parameters<Ui['resize']>[0];

/** Moved with the pointer or the arrow keys. */
function Splitter({ which, label }: { which: Which; label: string }): JSX.Element {
  const { ui } = usePage();
  const is_upright = which !== 'console';
  const sign = which === 'tree' ? 1 : -1;
  const size = ui.sizes.value[which];
  return (
    <div
      class={`splitter ${is_upright ? 'is-upright' : ''}`}
      role="separator"
      aria-orientation={is_upright ? 'vertical' : 'horizontal'}
      aria-label={label}
      aria-valuenow={size}
      aria-valuemin={64}
      aria-valuemax={1000}
      tabIndex={0}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -16, ArrowUp: -16, ArrowRight: 16, ArrowDown: 16 }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        ui.resize(which, size + sign * by);
      }}
      onPointerDown={(event) => {
        const target = event.currentTarget;
        const start = is_upright ? event.clientX : event.clientY;
        target.setPointerCapture(event.pointerId);
        const move = (now: PointerEvent): void =>
          ui.resize(which, size + sign * ((is_upright ? now.clientX : now.clientY) - start));
        target.addEventListener('pointermove', move);
        target.addEventListener('lostpointercapture', () => target.removeEventListener('pointermove', move), {
          once: true,
        });
      }}
    />
  );
}
