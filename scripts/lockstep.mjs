#!/usr/bin/env node
// `npx lockstep …`: runs the set-up if dist/ is missing or older than src/, then the command line.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => new URL(path, import.meta.url);
if (!existsSync(at('./built.mjs'))) {
  console.error('This package has the locks and the pipeline only: docs/library.md. The lab,');
  console.error('and this command, are in a checkout of Lockstep: run `npx lockstep` there.');
  process.exit(2);
}
await import('./on-node.mjs');
const { isBuilt } = await import('./built.mjs');
if (!isBuilt()) {
  const setup = spawnSync(process.execPath, [fileURLToPath(at('./setup.mjs'))], {
    stdio: ['ignore', 2, 2], // Its output goes to standard error, so that --json stays valid.
  });
  if (setup.status !== 0) process.exit(setup.status ?? 2);
}
await import(at('../dist/cli/lockstep.js').href);
