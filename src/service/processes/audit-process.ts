/** Runs bin/audit.js: the audit of a large sale takes time and memory that an instance needs. */

import { execFile } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { VoucherAudit } from '../audit/audit-in-parts.ts';
import { serviceError } from '../errors.ts';

const program = fileURLToPath(new URL('../bin/audit.js', import.meta.url));
const withinMs = 10 * 60_000;
const bytesMax = 10_000_000;
/** Beside the one that runs. */
const waitingMax = 8;

/**
 * One at a time in this process. A voucher that is being audited, or waits for it, is not audited
 * twice: both callers get the same answer.
 * @param signal ends the audit that runs.
 * @returns null when there is no such voucher. @throws AUDIT_FAILED
 */
export function auditsOneByOne(
  signal: AbortSignal,
): (voucherId: string) => Promise<VoucherAudit | null> {
  const audits = new Map<string, Promise<VoucherAudit | null>>();
  let last: Promise<unknown> = Promise.resolve();
  return (voucherId) => {
    const known = audits.get(voucherId);
    if (known) return known;
    if (audits.size > waitingMax)
      return Promise.reject(serviceError('AUDIT_FAILED', voucherId, `${waitingMax} others wait`));
    const audited = last.then(() => run(voucherId, signal));
    audits.set(voucherId, audited);
    last = audited.catch(() => {}).then(() => audits.delete(voucherId));
    return audited;
  };
}

/** The exit code is the verdict, so it is no error; without an answer, there is none. */
function run(voucherId: string, signal: AbortSignal): Promise<VoucherAudit | null> {
  return new Promise((resolve, reject) => {
    const args = ['--max-semi-space-size=1', program, voucherId, '--json'];
    const options = { timeout: withinMs, maxBuffer: bytesMax, signal };
    const child = execFile(process.execPath, args, options, (_, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as VoucherAudit | null);
      } catch {
        reject(serviceError('AUDIT_FAILED', voucherId, stderr.trim()));
      }
    });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  });
}
