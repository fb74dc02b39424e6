// `npm run test:times`: where the last test runs spent their time, from runs/tests/. Of each file
// the seconds of its servers (they start while it is imported and in its hooks) and of its tests.
// Usage: node scripts/test-times.mjs [COUNT]     so many of the longest files; 25 without it
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../runs/tests/', import.meta.url));
const count = Number(process.argv[2] ?? 25);
if (!existsSync(folder)) {
  console.error('no test was run yet: npm test');
  process.exit(2);
}

const projects = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
  .filter(({ project }) => project !== undefined); // Not the counts.
const files = projects.flatMap(({ project, files }) =>
  files.map((each) => ({ ...each, name: `${each.file.replace(/^test\//, '')} (${project})` })),
);

const sum = (rows, column) => rows.reduce((total, row) => total + row[column], 0);
const line = (name, servers, tests) =>
  `${String(Math.round(servers + tests)).padStart(6)} ${String(Math.round(servers)).padStart(8)}` +
  ` ${String(Math.round(tests)).padStart(6)}  ${name}`;
const lineOf = (name, rows) => line(name, sum(rows, 'serversSeconds'), sum(rows, 'testsSeconds'));

console.log('Seconds; several files run at the same time.\n');
console.log(' whole  servers  tests');
for (const { project, files: own } of projects)
  console.log(lineOf(`${project}, ${own.length} files`, own));
console.log(`\nThe ${count} longest files:`);
const longest = files.toSorted((one, other) => seconds(other) - seconds(one)).slice(0, count);
for (const each of longest) console.log(lineOf(each.name, [each]));

function seconds({ serversSeconds, testsSeconds }) {
  return serversSeconds + testsSeconds;
}
