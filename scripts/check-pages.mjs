// Plays every command of the workshop and of the course pages: races, rushes, trials and errata.
// The languages differ in --language alone, so each command is played once.
// Usage: node scripts/check-pages.mjs [WORD]     only the commands with this word
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const pages = [
  ...['workshop/steps', 'workshop/exercises', 'workshop/bug-hunts', 'workshop/facilitator'],
  ...['errata', 'from-the-course', 'hand-over'],
].map((name) => `docs/${name}.md`);
const isPlay = /^(race|run|trial|erratum)( |$)/;
const ofMine = /^mine /;

const commands = pages.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/npx lockstep ([^`\n]*?)(?= {2,}#|`|\n|<br>)/g)]
    .map(([, words]) => words.trim())
    .filter((words) => isPlay.test(words) && !ofMine.test(words)),
);
const word = process.argv[2] ?? '';
const chosen = [...new Set(commands)].filter((words) => words.includes(word));

let isWrong = chosen.length === 0;
for (const words of chosen) {
  const startedAt = Date.now();
  const args = ['dist/bin/lockstep.js', ...words.split(' ')];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(0);
  isWrong ||= status !== 0;
  console.log(`${status === 0 ? '✓' : `✗ exit code ${status}`} ${words} (${seconds} s)`);
  if (status !== 0) console.log(stderr.split('\n').slice(-5).join('\n'));
}
process.exit(isWrong ? 1 : 0);
