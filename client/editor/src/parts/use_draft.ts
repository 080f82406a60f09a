// Typed text stays while the world's value changes.
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface Draft {
  /** Null: nobody types. As of the last call, not of the last picture. */
  readonly text: string | null;
  begin(text: string): void;
  type(text: string): void;
  end(): void;
}

export function useDraft(): Draft {
  const kept = useRef<string | null>(null);
  const [, draw] = useState<string | null>(null);
  const set = (text: string | null): void => {
    kept.current = text;
    draw(text);
  };
  return {
    get text() {
      return kept.current;
    },
    begin: set,
    type: set,
    end: () => set(null),
  };
}

/**
 * Selects all of it as soon as a draft has begun: what is typed after that replaces it. For boxes
 * that no click puts a caret into.
 */
export function useSelected(input: RefObject<HTMLInputElement>, draft: Draft): void {
  const is_begun = draft.text !== null;
  useLayoutEffect(() => {
    if (is_begun) input.current?.select();
  }, [is_begun]);
}

/**
 * Selects all of it after the browser has placed the caret, unless the field was left, because
 * select() would enter it again.
 */
export function select_soon(input: RefObject<HTMLInputElement>): void {
  setTimeout(() => {
    if (input.current && document.activeElement === input.current) input.current.select();
  });
}

const calm_ms = 1000;

/**
 * A class name for a moment after the value became another, if it does so less than once a second.
 */
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
  // Two names: the same animation begins again where its name is another.
  return turn === 0 ? '' : turn % 2 ? 'fades-a' : 'fades-b';
}
