/** Whether the tests that need k6 can run; where they cannot, a line says so. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const folders = [
  join(process.cwd(), '.lockstep', 'bin'),
  ...(process.env['PATH'] ?? '').split(delimiter),
];

export const lacksK6 = !folders.some((folder) => existsSync(join(folder, 'k6')));
if (lacksK6)
  console.warn(
    'k6 IS MISSING: its tests are skipped. ' +
      'Get it: Go 1.26 and `npm run setup -- --with-k6`, or https://grafana.com/docs/k6',
  );
