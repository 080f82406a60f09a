import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

import type { Model } from '../model/model.js';
import type { Ui } from './ui.js';

export interface Page {
  model: Model;
  ui: Ui;
}
export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error('a panel outside of the page');
  return page;
}
