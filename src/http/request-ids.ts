/**
 * The names of requests. One that brings none gets one: unique over all processes and restarts. A
 * counter is short: Redis keeps the name of one request for each buyer.
 */
import { randomBytes } from 'node:crypto';

export const requestIdPattern = '^[A-Za-z0-9_-]{1,64}$';
const pattern = new RegExp(requestIdPattern);

export const isRequestId = (text: string): boolean => pattern.test(text);

/** 72 random bits: no other process, and no earlier one, has the same. */
const ownPart = randomBytes(9).toString('base64url');
let made = 0;

export const newRequestId = (): string => `${ownPart}-${(++made).toString(36)}`;
