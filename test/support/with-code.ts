/** For `toThrow`: an error of the service or the lab, by its code. */
import { expect } from 'vitest';

export const withCode = (code: string): Error => expect.objectContaining({ code });
