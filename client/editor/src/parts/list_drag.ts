// Drags an item of a list into the viewport.

const slack_px = 6;

/** Begins at a press of the pointer. `dropped` gets the point of the window in the viewport. */
export function begin_list_drag(event: PointerEvent, dropped: (at: { x: number; y: number }) => void): void {
  if (event.button !== 0) return;
  const start = { x: event.clientX, y: event.clientY };
  let is_on = false;
  const move = (now: PointerEvent): void => {
    if (Math.hypot(now.clientX - start.x, now.clientY - start.y) > slack_px) is_on = true;
    document.body.classList.toggle('is-dragging-template', is_on);
  };
  const end = (): void => {
    removeEventListener('pointermove', move);
    removeEventListener('pointerup', up);
    removeEventListener('keydown', key, true);
    document.body.classList.remove('is-dragging-template');
  };
  const up = (now: PointerEvent): void => {
    move(now);
    end();
    if (!is_on) return;
    // The click that follows does nothing.
    const swallow = (click: MouseEvent): void => click.stopPropagation();
    addEventListener('click', swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', swallow, true), 0);
    const view = document.elementFromPoint(now.clientX, now.clientY)?.closest('.viewport');
    if (view) dropped({ x: now.clientX, y: now.clientY });
  };
  const key = (pressed: KeyboardEvent): void => {
    if (pressed.key !== 'Escape') return;
    pressed.stopPropagation();
    end();
  };
  addEventListener('pointermove', move);
  addEventListener('pointerup', up);
  addEventListener('keydown', key, true);
}
