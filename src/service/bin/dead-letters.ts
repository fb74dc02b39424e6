/**
 * `dead-letters` for a deployment: with the environment of the service, and without the lab. Exit
 * codes: 0 done, 1 some letters were refused, 2 not done.
 */
import { operate } from '../operate/operate.ts';
import { LettersGiven, runDeadLetters } from '../orders/letters-command.ts';
import { withDeployment } from '../processes/with-stores.ts';

await operate({
  usage:
    'Usage: node dist/service/bin/dead-letters.js list|show|replay|discard [LETTER | --all] ' +
    '[--reason REASON] [--voucher-id ID] [--most N] [--json]',
  given: LettersGiven,
  words: ['act', 'letter'],
  run: (request) => withDeployment((opened) => runDeadLetters(opened, request)),
});
