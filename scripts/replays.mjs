// Records the runs in docs/replays/ again, on real servers: each is one HTML file that needs none.
// Usage: npm run replays -- [NAME...]
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './on-node.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const to = join(root, 'docs/replays');
const byHand = (rung, choices) => ['race', '--rung', rung, '--choices', choices];
const locks = ['redis-atomic', 'multilock', 'redlock', 'zookeeper'];

const recordings = {
  'mutex-in-each-process': byHand('mutex-per-user', 'AABBAB'),
  'redis-lock': byHand('redis-atomic', 'AABAB'),
  misdelete: byHand('redis-expiry', 'AAEABACBCBC'),
  'worker-killed': byHand('redis-list', 'AAXWB'),
  'masters-stopped': ['drill', 'stop-masters', '--minutes', '1'],
  scoreboard: ['scoreboard', '--rungs', locks.join(',')],
};

const runs = mkdtempSync(join(tmpdir(), 'lockstep-replays-'));
const env = { ...process.env, LOCKSTEP_RUNS: runs, LOCKSTEP_LAB: join(root, '.lockstep/replays') };
mkdirSync(to, { recursive: true });
try {
  const names = process.argv.slice(2);
  for (const [name, words] of Object.entries(recordings)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(`\n=== ${name}: npx lockstep ${words.join(' ')}\n`);
    const program = join(root, 'dist/cli/lockstep.js');
    execFileSync(process.execPath, [program, ...words], { env, stdio: 'inherit' });
    const files = ['replay.html', 'index.html'].map((each) => join(runs, 'latest', each));
    cpSync(files.find(existsSync), join(to, `${name}.html`));
  }
} finally {
  rmSync(runs, { recursive: true });
}
