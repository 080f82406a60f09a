// The interface that edits need from the world.
import type { Client, ClientError, Entity, StructValue } from 'muster-client';

export interface EditedWorld {
  client(): Client | null;
  may_edit(): boolean;
  why_not(): string;
  /** Returns the newest value received for a component, or undefined if it is unknown. */
  component(entity: Entity, component: string): StructValue | undefined;
  name(entity: Entity): string;
  parent(entity: Entity): Entity;
  /** Returns the names of its children. */
  names_below(parent: Entity): Iterable<string>;
  /** Returns the next sibling as of sequence `since` or later; nil for the last child. */
  next_sibling(entity: Entity, since: bigint): Promise<Entity>;
  /**
   * Resolves when the page knows the world as of these sequences or later: the entities with their
   * names and places (`structure`), and the components of the selection (`components`). Also
   * resolves after a while, because the world does not report values that were changed back.
   */
  told_of(structure: bigint, components: bigint): Promise<void>;
  /**
   * True if handlers constantly write the component and the clock runs, so expected values are
   * useless.
   */
  is_driven(component: string): boolean;
  /**
   * Returns a sentence about another user who has locked one of the entities or, if `with_below`,
   * an entity below one of them; undefined if they are free.
   */
  held(entities: readonly Entity[], with_below: boolean): string | undefined;
  /** Returns the reason for a refusal, shortened if the page shows the full reason elsewhere. */
  brief(sentence: string): string;
  /** Called when the world has refused something that this page sent. */
  was_refused(error: ClientError): void;
}
