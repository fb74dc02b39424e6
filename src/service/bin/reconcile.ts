/**
 * `reconcile` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 consistent, 1 not, 2 could not tell.
 */
import { readConfig } from '../config.ts';
import { operate } from '../operate/operate.ts';
import { ReconcileGiven, runReconcile } from '../orders/reconcile/reconcile-command.ts';
import { withStores } from '../processes/with-stores.ts';

await operate({
  usage: 'Usage: node dist/service/bin/reconcile.js [VOUCHER_ID] [--repair | --rebuild] [--json]',
  given: ReconcileGiven,
  words: ['voucherId'],
  run: (given) => withStores(readConfig(), (opened) => runReconcile(opened, given)),
});
