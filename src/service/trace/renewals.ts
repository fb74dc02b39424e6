/**
 * The renewals of leases in this process: in the lab they can be due at once. Nothing in
 * production.
 */
import { keepsHistory } from './history.ts';

const rounds: (() => void)[] = [];

/** @param renewAll what a watchdog does when its renewals are due */
export function onRenewalsDue(renewAll: () => void): void {
  if (keepsHistory()) rounds.push(renewAll);
}

/** For the lab only. */
export function renewalsAreDue(): void {
  for (const renewAll of rounds) renewAll();
}
