/** The demo in a lab of its own, until somebody stops it: its point, its report, and its end. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { Lab } from '../../../src/lab/environment/lab.ts';
import { waitUntil } from '../../../src/lab/environment/wait-until.ts';
import { storyNames } from '../../../src/service/ladder/story.ts';
import { texts } from '../../../src/texts/texts.ts';
import { someFolder } from '../../support/basics.ts';

const program = new URL('../../../dist/cli/lockstep.js', import.meta.url).pathname;
const { story } = texts.en;

test('the demo begins with its headline, reports as it goes, and Ctrl-C leaves nothing behind', async () => {
  const [lab, runs] = [someFolder(), someFolder()];
  const env = { LOCKSTEP_LAB: lab, LOCKSTEP_RUNS: runs };
  const demo = execa('node', [program, 'demo'], { env, reject: false });
  let said = '';
  demo.stdout.on('data', (data: Buffer) => {
    said += String(data);
  });
  const says = (text: string) => waitUntil(`"${text}"`, 120_000, () => said.includes(text));
  const page = () => readFileSync(join(runs, 'latest', 'index.html'), 'utf8');

  await says('users with two orders');
  expect(page()).toContain('<strong>0 of 0</strong>');
  const first = ['mariadb', 'nginx', 'redis-lab', 'redis-main', 'service'];
  const started = Lab.find(lab)?.servers.map(({ name }) => name);
  expect(started?.sort()).toEqual(first);

  for (const name of storyNames) await says(story[name].meaning);
  await says('read-then-write'); // The walk has begun, with all servers.
  const whole = Lab.find(lab);
  expect(whole?.servers.length).toBeGreaterThan(first.length);
  demo.kill('SIGINT');
  const { exitCode, stdout } = await demo;
  expect(exitCode).toBe(130);
  const [, played = 0, all = 0] = /Stopped early: (\d+) of (\d+) were/.exec(stdout) ?? [];
  expect(Number(played), stdout).toBeGreaterThanOrEqual(4);
  expect(Number(played)).toBeLessThan(Number(all));
  expect(page()).toContain('The command was stopped');
  expect(existsSync(join(runs, 'latest', 'facts.json'))).toBe(true);
  expect(whole?.servers.filter(({ alive }) => alive)).toEqual([]);
  expect(existsSync(join(lab, 'lab.json'))).toBe(false);
}, 360_000);
