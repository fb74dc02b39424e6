/** A log that says nothing. */
import { pino } from 'pino';

export const quiet = pino({ level: 'silent' });
