// The line in the inspector's head that names the template of a spawned entity.
import { useSignal } from '@preact/signals';
import type { Entity } from 'muster-client';
import type { JSX } from 'preact';

import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { anchor_of } from '../parts/popover.js';
import type { Anchor, MenuItem } from '../parts/popover.js';
import { usePage } from '../panels/context.js';

const groups = [['select'], ['revert', 'revert_all'], ['apply', 'apply_all'], ['unlink']];

export function TemplateLine({ entity }: { entity: Entity }): JSX.Element {
  const { model } = usePage();
  const at = useSignal<Anchor | null>(null);
  void model.templates.version.value;
  const link = model.templates.link(entity);
  if (!link) return <></>;
  const items = groups.map((group) =>
    group.map((each): MenuItem => {
      const { id, title, icon, enabled } = model.commands.all.value.get(`template.${each}`)!;
      return { title, icon, disabled: enabled?.() === false, run: () => model.commands.run(id) };
    }),
  );
  return (
    <p class="about-line">
      <span class="about-path">
        <Icon name="template" size={14} /> {link.name}
        {link.node !== '' && <span class="is-faint"> › {link.node}</span>}
      </span>
      <button
        class="in-head"
        aria-label={`More for the template ${link.name}`}
        aria-haspopup="menu"
        onClick={(event) => (at.value = anchor_of(event.currentTarget))}
      >
        <Icon name="more" size={14} />
      </button>
      {at.value && <Menu at={at.value} label={link.name} groups={items} close={() => (at.value = null)} />}
    </p>
  );
}
