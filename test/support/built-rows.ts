/**
 * The rows that the build puts into the page's client, from dist/: `npm run build` is before every
 * test. A worker loads the client once for all files of tests, so each file needs the same rows.
 */
import type { LadderRow, ScoreTable } from '../../src/page/client/built-rows.ts';

const module = '../../scripts/page.mjs';
const { builtRows } = (await import(module)) as {
  builtRows: () => { readonly ladderRows: readonly LadderRow[]; readonly scoreTable: ScoreTable };
};

export const built = builtRows();
Object.assign(globalThis, { BUILT: built });
