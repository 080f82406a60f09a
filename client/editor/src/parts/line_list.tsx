// A list of many lines of one height. It draws only those in sight, and follows its end until
// somebody scrolls up.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const line_height = 22;

export function LineList<T extends { number: number | bigint }>(props: {
  lines: readonly T[];
  label: string;
  /** The sentence that is shown if there are no lines. */
  empty: string;
  /** Draws a line. `style` puts it into its place. */
  draw(line: T, style: { top: string }): ComponentChildren;
}): JSX.Element {
  const { lines } = props;
  const list = useRef<HTMLDivElement>(null);
  const is_at_end = useRef(true);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(160);
  useEffect(() => {
    const element = list.current!;
    const size = new ResizeObserver(() => set_height(element.clientHeight));
    size.observe(element);
    return () => size.disconnect();
  }, []);
  // Runs before the browser draws, so that no scroll event sees the list above its end.
  const shown = useRef(0);
  useLayoutEffect(() => {
    const element = list.current!;
    // A list that was cleared or filtered follows its end again.
    if (lines.length < shown.current) is_at_end.current = true;
    shown.current = lines.length;
    if (is_at_end.current) element.scrollTop = element.scrollHeight;
  }, [lines.length, lines[lines.length - 1]?.number]);
  const first = Math.max(0, Math.floor(top / line_height) - 2);
  const last = Math.min(lines.length, Math.ceil((top + height) / line_height) + 2);
  return (
    <div
      ref={list}
      class="message-list"
      role="log"
      aria-label={props.label}
      aria-live="off"
      tabIndex={0}
      onScroll={(event) => {
        const element = event.currentTarget;
        // The event also fires when rows arrive or the page scrolls the list. Scrolling up
        // counts as the user's only if the pointer or the focus is in the list.
        const is_by_hand = element.matches(':hover, :focus-within');
        if (element.scrollTop + element.clientHeight > element.scrollHeight - 8) is_at_end.current = true;
        else if (is_by_hand && element.scrollTop < top - 1) is_at_end.current = false;
        set_top(element.scrollTop);
      }}
    >
      {lines.length === 0 && <p class="empty">{props.empty}</p>}
      <div class="tree-space" style={{ height: `${lines.length * line_height}px` }}>
        {lines.slice(first, last).map((line, i) => props.draw(line, { top: `${(first + i) * line_height}px` }))}
      </div>
    </div>
  );
}
