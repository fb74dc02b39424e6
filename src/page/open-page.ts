/** The page is one more server of a lab. */
import type { Lab } from '../lab/environment/lab.ts';
import { pageName } from '../lab/environment/stores.ts';
import { addressWithKey } from './access.ts';

/** Starts the page, unless it runs. @returns its address, with a key that opens it once */
export async function openPage(lab: Lab): Promise<string> {
  await lab.provide([pageName]);
  await lab.server(pageName).start(); // It may have ended.
  return addressWithKey(lab.folder, lab.pageUrl);
}
