#!/usr/bin/env node
// `npx lockstep …`: builds on first use, then hands over to the command line in src/bin/lockstep.ts.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = new URL('../dist/bin/lockstep.js', import.meta.url);
if (!isBuilt()) {
  const setup = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('./setup.mjs', import.meta.url))],
    {
      stdio: ['ignore', 2, 2], // Set-up talks on standard error, so that --json stays clean.
    },
  );
  if (setup.status !== 0) process.exit(setup.status ?? 2);
}
await import(cli.href);

/** dist/ is there and newer than every source. */
function isBuilt() {
  try {
    const builtAt = statSync(cli).mtimeMs;
    const root = new URL('../src/', import.meta.url);
    return readdirSync(root, { recursive: true }).every(
      (file) => statSync(new URL(file, root)).mtimeMs <= builtAt,
    );
  } catch {
    return false;
  }
}
