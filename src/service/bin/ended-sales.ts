/**
 * `ended-sales` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 done, 1 some sales were kept because orders wait, 2 not done.
 */
import { z } from 'zod';
import { operate } from '../operate/operate.ts';
import { endedDays, runEndedSales } from '../orders/ended-sales.ts';
import { withDeployment } from '../processes/with-stores.ts';

await operate({
  usage: 'Usage: node dist/service/bin/ended-sales.js [--days DAYS] [--json]',
  given: z.object({ days: endedDays.optional() }),
  words: [],
  run: ({ days }) =>
    withDeployment((opened) => {
      const { ENDED_SALE_DAYS } = opened.config;
      if (days === undefined && ENDED_SALE_DAYS === 0)
        throw new RangeError('ENDED_SALE_DAYS is 0, which means never: name the --days');
      return runEndedSales(opened, days ?? ENDED_SALE_DAYS);
    }),
});
