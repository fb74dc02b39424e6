// Whether dist/ is newer than every source: then there is nothing to compile.
import { readdirSync, statSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const changedAt = (path) => statSync(new URL(path, root)).mtimeMs;

export function isBuilt() {
  try {
    const built = ['dist/cli/lockstep.js', 'dist/page/client/page.packed'];
    const builtAt = Math.min(...built.map(changedAt));
    const sources = readdirSync(new URL('src/', root), { recursive: true });
    const inputs = ['tsconfig.json', ...sources.map((file) => `src/${file}`)];
    return inputs.every((path) => changedAt(path) <= builtAt);
  } catch {
    return false;
  }
}
