/** Every test file is in a length: `npm test`, or the part that `npm run test:all` adds. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type RaceOnRung, rushes, shortRaces } from '../../src/lab/drills/demo-plan.ts';
import type { RunRequest } from '../../src/lab/drills/run-rung.ts';
import { storyOf } from '../../src/lab/report/demo-lines.ts';
import { storyNames } from '../../src/service/ladder/story.ts';
import { projects } from '../../vitest.config.ts';
import {
  circumstanceOf,
  kindOfRace,
  kindOfRush,
  otherRaces,
  otherRushes,
  sampledRaces,
  sampledRushes,
} from '../support/samples.ts';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `test/${file}`);
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Record<string, string>;
};

describe('the lengths of the tests', () => {
  test('have a project for each folder, named after it, that runs all of its files', () => {
    const folders = new Set(files.map(dirname));
    for (const folder of folders) {
      const all = projects.filter(({ test: { include = [] } }) =>
        include.includes(`${folder}/*.test.ts`),
      );
      expect(all.length, folder).toBe(1);
    }
    expect(folders.size).toBeGreaterThan(6);
  });

  test('are commands, which together run every project', () => {
    const named = [...(scripts['test'] ?? '').matchAll(/--project (\w+)/g)].map(([, name]) => name);
    expect(named).toEqual(['unit', 'contracts', 'integration', 'security', 'drills']);
    expect(readFileSync('scripts/test-all.mjs', 'utf8')).toContain("vitest('--project', 'long*')");
    expect(scripts['mutants']).toContain('--project mutants');
    const others = projects.map((each) => each.test.name).filter((name) => !/^long/.test(name));
    expect(others).toEqual([...named, 'mutants']);
  });

  test('share the races and rushes of the demo: none twice, none forgotten', () => {
    expect(new Set([...sampledRaces, ...otherRaces])).toEqual(new Set(shortRaces));
    expect(sampledRaces.length + otherRaces.length).toBe(shortRaces.length);
    expect(sampledRushes.length + otherRushes.length).toBe(rushes(7).length);
  });
});

describe('the sample of `npm test`', () => {
  test('has a race for each circumstance of the demo, and for each chapter and claim', () => {
    const all = (of: (pair: RaceOnRung) => string) => new Set(shortRaces.map(of));
    const sampled = (of: (pair: RaceOnRung) => string) => new Set(sampledRaces.map(of));
    expect(sampled(circumstanceOf)).toEqual(all(circumstanceOf));
    expect(sampledRaces.length).toBeLessThan(shortRaces.length * 0.7);
    expect(sampled(kindOfRace)).toEqual(all(kindOfRace));
  });

  test('has a rush for each chapter and claim, and those of the headline', () => {
    const kinds = (requests: readonly RunRequest[]) => new Set(requests.map(kindOfRush));
    expect(kinds(sampledRushes)).toEqual(kinds(rushes(7)));
    expect(sampledRushes.map(storyOf)).toEqual(expect.arrayContaining(storyNames));
  });
});
