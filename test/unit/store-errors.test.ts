/** A store that does not answer, told from a fault. */
import { expect, test } from 'vitest';
import { isStoreUnavailable } from '../../src/connections/store-errors.ts';

const withCode = (code: string) => Object.assign(new Error('no answer'), { code });

/** A container that is not up yet has no name, or its name server says to ask again. */
test.each(['EAI_AGAIN', 'ECONNREFUSED', 'ENOTFOUND', 'PROTOCOL_CONNECTION_LOST'])(
  '%s means that the store does not answer',
  (code) => {
    expect(isStoreUnavailable(withCode(code))).toBe(true);
  },
);

test.each(['ER_ACCESS_DENIED_ERROR', 'ER_DUP_ENTRY', undefined])('%s does not', (code) => {
  expect(isStoreUnavailable(withCode(String(code)))).toBe(false);
});
