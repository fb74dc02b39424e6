#!/usr/bin/env node
// `npx lockstep …`: runs the set-up if dist/ is missing or older than src/, then the command line.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './built.mjs';

const cli = new URL('../dist/bin/lockstep.js', import.meta.url);
if (!isBuilt()) {
  const setup = spawnSync(
    process.execPath,
    [fileURLToPath(new URL('./setup.mjs', import.meta.url))],
    {
      stdio: ['ignore', 2, 2], // Its output goes to standard error, so that --json stays valid.
    },
  );
  if (setup.status !== 0) process.exit(setup.status ?? 2);
}
await import(cli.href);
