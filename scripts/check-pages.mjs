// Plays every command of the workshop and of the course page: races, rushes, trials and errata.
// The languages differ in --language alone, so each command is played once.
// Usage: node scripts/check-pages.mjs [WORD]     only the commands with this word
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import './on-node.mjs';

const pages = [
  'workshop/steps',
  'workshop/exercises',
  'workshop/README',
  'course',
  'zh/course',
].map((name) => `docs/${name}.md`);
const isPlay = /^(race|run|trial|erratum) \S/; // A name alone is a mention.

const commands = pages.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/npx lockstep ([^`\n]*?)(?= {2,}#|`|\n|<br>)/g)]
    .map(([, words]) => words.replace(' --language zh', '').trim())
    .filter((words) => isPlay.test(words)),
);
const word = process.argv[2] ?? '';
const chosen = [...new Set(commands)].filter((words) => words.includes(word));

const env = { ...process.env, LOCKSTEP_LAB: '.lockstep/pages' };
const lockstep = (...args) =>
  spawnSync(process.execPath, ['dist/cli/lockstep.js', ...args], { encoding: 'utf8', env });

let isWrong = chosen.length === 0;
lockstep('up'); // Once for all of them.
for (const words of chosen) {
  const startedAt = Date.now();
  const { status, stderr } = lockstep(...words.split(' '));
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
  isWrong ||= status !== 0;
  console.log(`${status === 0 ? '✓' : `✗ exit code ${status}`} ${words} (${seconds} s)`);
  if (status !== 0) console.log(stderr.split('\n').slice(-5).join('\n'));
}
lockstep('down');
process.exit(isWrong ? 1 : 0);
