// What is being typed stays as it is while the world changes the value under it.
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Draft {
  /** Null: nobody types. */
  text: string | null;
  begin(text: string): void;
  type(text: string): void;
  end(): void;
}

export function useDraft(): Draft {
  const [text, set_text] = useState<string | null>(null);
  return {
    text,
    begin: (first) => set_text(first),
    type: (next) => set_text(next),
    end: () => set_text(null),
  };
}

const calm_ms = 1000;

/** A class name for a moment after the value became another, if it does so less than once a second. */
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
