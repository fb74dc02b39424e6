#!/usr/bin/env node
// `npx lockstep …`: builds on first use, then hands over to the command line in src/bin/lockstep.ts.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = new URL('../dist/bin/lockstep.js', import.meta.url);
if (!existsSync(cli)) {
  const setup = spawnSync(process.execPath, [fileURLToPath(new URL('./setup.mjs', import.meta.url))], {
    stdio: ['ignore', 2, 2], // Set-up talks on standard error, so that --json stays clean.
  });
  if (setup.status !== 0) process.exit(setup.status ?? 2);
}
await import(cli.href);
