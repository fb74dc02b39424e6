/**
 * The page's client as the build has it, from dist/: `npm run build` is before every test. Its
 * modules are loaded once for all files of a worker, so each file needs the same rows.
 */
import type { LadderRow, ScoreTable } from '../../src/page/client/built-rows.ts';

const module = '../../scripts/page.mjs';
const { builtRows } = (await import(module)) as {
  builtRows: () => { readonly ladderRows: readonly LadderRow[]; readonly scoreTable: ScoreTable };
};

export const built = builtRows();
Object.assign(globalThis, { BUILT: built });
