// Preserves typed text while the world's value changes.
import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import type { RefObject } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Ends the drafts of the fields inside it. */
export interface DraftKeeper {
  /** Drafts end when it changes, because they were meant for what was shown before. */
  epoch: ReadonlySignal<unknown>;
  /** Called when typed text was dropped because of that. */
  dropped(): void;
}
export const DraftContext = createContext<DraftKeeper | null>(null);

export interface Draft {
  /** Null if nothing is being typed. Always current, even before the next render. */
  readonly text: string | null;
  begin(text: string): void;
  type(text: string): void;
  end(): void;
}

export function useDraft(): Draft {
  const keeper = useContext(DraftContext);
  const kept = useRef<{ text: string; is_typed: boolean; epoch: unknown } | null>(null);
  const [, draw] = useState<string | null>(null);
  const set = (text: string, is_typed: boolean): void => {
    kept.current = { text, is_typed, epoch: keeper?.epoch.peek() };
    draw(text);
  };
  const end = (): void => {
    kept.current = null;
    draw(null);
  };
  const epoch = keeper?.epoch.value;
  useLayoutEffect(() => {
    const draft = kept.current;
    if (!draft || draft.epoch === epoch) return;
    end();
    (document.activeElement as HTMLElement | null)?.blur();
    if (draft.is_typed) keeper?.dropped();
  }, [epoch]);
  return {
    get text() {
      return kept.current && kept.current.epoch === keeper?.epoch.peek() ? kept.current.text : null;
    },
    begin: (text) => set(text, false),
    type: (text) => set(text, true),
    end,
  };
}

/**
 * Selects the whole text when a draft begins, so that typing replaces it. For boxes that do not get
 * a caret from a click.
 */
export function useSelected(input: RefObject<HTMLInputElement>, draft: Draft): void {
  const is_begun = draft.text !== null;
  useLayoutEffect(() => {
    if (is_begun) input.current?.select();
  }, [is_begun]);
}

/**
 * Selects the whole text after the browser has placed the caret. Does nothing if the field has lost
 * the focus, because select() would return the focus to it.
 */
export function select_soon(input: RefObject<HTMLInputElement>): void {
  setTimeout(() => {
    if (input.current && document.activeElement === input.current) input.current.select();
  });
}

const calm_ms = 1000;

/** Returns a class name after the value has changed, if it changes less than once per second. */
export function useFade(shown: string, is_live: boolean): string {
  const known = useRef(shown);
  const changed_at = useRef(-Infinity);
  const [turn, set_turn] = useState(0);
  useEffect(() => {
    if (known.current === shown) return;
    known.current = shown;
    const now = performance.now();
    const is_rare = now - changed_at.current > calm_ms;
    changed_at.current = now;
    if (is_live && is_rare) set_turn((before) => before + 1);
  }, [shown, is_live]);
  // Alternates between two names, because a new name restarts the animation.
  return turn === 0 ? '' : turn % 2 ? 'fades-a' : 'fades-b';
}
