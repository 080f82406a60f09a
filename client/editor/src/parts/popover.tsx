// Menus, pickers and dialogs that open over the page.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Anchor {
  x: number;
  y: number;
  width?: number;
  height?: number;
}

export function anchor_of(element: Element): Anchor {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left, y: top, width, height };
}

/** Opens below its anchor, or elsewhere on the screen. Escape and outside presses close it. */
export function Popover(props: {
  at: Anchor;
  label: string;
  role?: 'menu' | 'dialog';
  class?: string;
  close(): void;
  children: ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const { at, close } = props;
  useLayoutEffect(() => {
    const element = box.current!;
    const place = (): void => {
      const { offsetWidth: width, offsetHeight: height } = element;
      const below = at.y + (at.height ?? 0) + 2;
      const above = at.y - height - 2;
      const y = below + height <= innerHeight - 4 || above < 4 ? Math.min(below, innerHeight - height - 4) : above;
      element.style.left = `${Math.max(4, Math.min(at.x, innerWidth - width - 4))}px`;
      element.style.top = `${Math.max(4, y)}px`;
    };
    place();
    const size = new ResizeObserver(place);
    size.observe(element);
    return () => size.disconnect();
  }, [at.x, at.y]);
  // Takes the focus before the next key, so that immediate typing goes into it.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const element = box.current!;
    if (!element.contains(before))
      (element.querySelector<HTMLElement>('[autofocus], input, [role^=menuitem], button') ?? element).focus();
    const outside = (event: PointerEvent): void => {
      if (!element.contains(event.target as Node)) close();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      event.preventDefault();
      close();
    };
    addEventListener('pointerdown', outside, true);
    addEventListener('keydown', key, true);
    return () => {
      removeEventListener('pointerdown', outside, true);
      removeEventListener('keydown', key, true);
      if (element.contains(document.activeElement) || document.activeElement === document.body) before?.focus?.();
    };
  }, []);
  return (
    <div
      ref={box}
      class={`popover ${props.class ?? ''}`}
      role={props.role ?? 'dialog'}
      aria-label={props.label}
      tabIndex={-1}
    >
      {props.children}
    </div>
  );
}

export interface MenuItem {
  title: string;
  icon?: string;
  keys?: string;
  checked?: boolean;
  disabled?: boolean;
  hint?: string;
  danger?: boolean;
  run(): void;
}
