/** The scripts begin on the Node of the system, however old it is. */
import { delimiter } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const folders = (process.env['PATH'] ?? '').split(delimiter);
const ofSystem = folders.filter((folder) => !/node_modules|\.lockstep/.test(folder));

test('a script runs again on Node 26 where the Node of the system is too old', async () => {
  const script = "await import('./scripts/on-node.mjs'); console.log(process.versions.node)";
  const env = { PATH: ofSystem.join(delimiter) };
  const { stdout } = await execa('node', ['--input-type=module', '-e', script], { env });
  expect(Number.parseInt(stdout, 10)).toBeGreaterThanOrEqual(22);
});
