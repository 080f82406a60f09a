// The field of the search above the tree, and the kept searches below it.
import type { JSX } from 'preact';

import { Icon } from '../parts/icon.js';
import { usePage } from './context.js';

export function SearchField(): JSX.Element {
  const { ui } = usePage();
  const kept = ui.searches.value;
  const query = ui.search.value.trim();
  const is_bare = query !== '' && !kept.includes(query);
  return (
    <label class="search">
      <Icon name="search" size={14} />
      <input
        id="tree-search"
        type="text"
        role="searchbox"
        aria-label="Search entities"
        placeholder="Search"
        title={`Parts of a name, and of the names above it: red tower; of a path: red/
has:Light, Light.kind=spot, Transform.position.y<0, an id such as 12:1`}
        spellcheck={false}
        autocomplete="off"
        value={ui.search.value}
        onInput={(event) => (ui.search.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          const list = document.querySelector<HTMLElement>('.tree-list');
          if (event.key === 'Escape') {
            ui.search.value = '';
            list?.focus();
          } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
            event.preventDefault();
            list?.focus();
            list?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
          }
        }}
      />
      {is_bare && (
        <button
          class="in-field"
          aria-label="Keep this search"
          title="Keep this search"
          onClick={() => ui.keep_searches([...kept, query])}
        >
          <Icon name="star" size={14} />
        </button>
      )}
      {ui.search.value ? (
        <button class="in-field" aria-label="Clear the search" onClick={() => (ui.search.value = '')}>
          <Icon name="close" size={14} />
        </button>
      ) : (
        <kbd>/</kbd>
      )}
    </label>
  );
}

/** The kept searches, which the browser stores per world. A click searches again, or ends it. */
export function KeptSearches(): JSX.Element | null {
  const { ui } = usePage();
  const kept = ui.searches.value;
  if (kept.length === 0) return null;
  const query = ui.search.value.trim();
  return (
    <div class="kept-searches" role="group" aria-label="Kept searches">
      {kept.map((each) => (
        <span key={each} class={`kept-search ${each === query ? 'is-on' : ''}`}>
          <button
            aria-pressed={each === query}
            title={each}
            onClick={() => (ui.search.value = each === query ? '' : each)}
          >
            {each}
          </button>
          <button
            class="in-field"
            aria-label={`Forget ${each}`}
            onClick={() => ui.keep_searches(kept.filter((other) => other !== each))}
          >
            <Icon name="close" size={14} />
          </button>
        </span>
      ))}
    </div>
  );
}
