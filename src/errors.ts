/**
 * Every error that Lockstep raises itself: a class, a stable code to match on, and a sentence with the numbers and
 * what to do next. Those of order ids are in orders/ids/errors.ts.
 */
export abstract class LockstepError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

export class ConfigurationInvalid extends LockstepError {
  readonly code = 'CONFIGURATION_INVALID';

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid: ${problems.join('; ')}. Each name is explained in src/config.ts.`);
  }
}

export class UnknownRung extends LockstepError {
  readonly code = 'UNKNOWN_RUNG';

  constructor(rung: string, known: readonly string[]) {
    super(`There is no rung "${rung}". The ladder has: ${known.join(', ')}.`);
  }
}

export class UnknownRace extends LockstepError {
  readonly code = 'UNKNOWN_RACE';

  constructor(race: string, known: readonly string[]) {
    super(`There is no race "${race}". There are: ${known.join(', ')}.`);
  }
}

/** The lock service itself failed; whether the lock is free is not known. */
export class LockServiceUnavailable extends LockstepError {
  readonly code = 'LOCK_SERVICE_UNAVAILABLE';

  constructor(resource: string, answered: number, needed: number, cause?: unknown) {
    super(`The lock on ${resource} needs ${needed} server(s) and ${answered} answered; start the others.`, {
      cause,
    });
  }
}

/** The lease ended before the work did: somebody else may hold the lock now. */
export class LeaseLost extends LockstepError {
  readonly code = 'LEASE_LOST';

  constructor(resource: string, leaseMs: number, advice = 'raise LOCK_LEASE_MS') {
    super(`The lease on ${resource} ended after ${leaseMs} ms, before its work did; ${advice}.`);
  }
}

/** COMMIT was sent and no answer came: the transaction may be in the database or not. */
export class CommitUnknown extends LockstepError {
  readonly code = 'COMMIT_UNKNOWN';

  constructor(cause: unknown) {
    super('COMMIT was sent and no answer came: look the order up before you try again.', { cause });
  }
}

/** A Lua script answered something that its header does not list. */
export class ScriptAnswerUnexpected extends LockstepError {
  readonly code = 'SCRIPT_ANSWER_UNEXPECTED';

  constructor(script: string, answer: unknown) {
    super(`lua/${script}.lua answered ${JSON.stringify(answer)}, which its header does not list.`);
  }
}

/** A program that the lab starts is not on this machine. */
export class ProgramMissing extends LockstepError {
  readonly code = 'PROGRAM_MISSING';

  constructor(program: string) {
    super(`${program} is not installed: run \`npm run setup\`, or use docker compose (see README).`);
  }
}

/** Something was waited for and did not come within its deadline. */
export class DeadlinePassed extends LockstepError {
  readonly code = 'DEADLINE_PASSED';

  constructor(what: string, deadlineMs: number, cause?: unknown) {
    super(`Waited ${deadlineMs} ms for ${what}, and it did not come.`, { cause });
  }
}

/** Another command works with this lab at the moment. */
export class LabBusy extends LockstepError {
  readonly code = 'LAB_BUSY';

  constructor(pid: number, home: string) {
    super(`The lab in ${home} is in use by process ${pid}; wait for it, or end it.`);
  }
}

/** The lab is not running and the command needs it to be. */
export class LabDown extends LockstepError {
  readonly code = 'LAB_DOWN';

  constructor() {
    super('The lab is not running: start it with `npm run up`.');
  }
}

/** The service refused something that the lab, its operator, asked for. */
export class ServiceRefused extends LockstepError {
  readonly code = 'SERVICE_REFUSED';

  constructor(what: string, status: number, detail: string) {
    super(`The service answered ${status} to ${what}: ${detail}`);
  }
}

export class UnknownVoucher extends LockstepError {
  readonly code = 'UNKNOWN_VOUCHER';

  constructor(voucherId: string) {
    super(`There is no voucher ${voucherId} in this lab; \`curl <url>/vouchers\` lists those there are.`);
  }
}

/** The lab's own record cannot be read: it was damaged. */
export class LabStateUnreadable extends LockstepError {
  readonly code = 'LAB_STATE_UNREADABLE';

  constructor(file: string, cause: unknown) {
    super(`${file} is damaged. End what \`ps\` shows of the lab, and remove its folder.`, { cause });
  }
}

/** A server of the lab ended while it was waited for. */
export class ServerEnded extends LockstepError {
  readonly code = 'SERVER_ENDED';

  constructor(name: string, logFile: string) {
    super(`${name} ended at once; its log says why: ${logFile}`);
  }
}

/** The command was interrupted: what it still wanted to start is not started. */
export class Interrupted extends LockstepError {
  readonly code = 'INTERRUPTED';

  constructor() {
    super('Interrupted.');
  }
}

export class InvalidId extends LockstepError {
  readonly code = 'INVALID_ID';

  constructor(id: string) {
    super(
      `"${id}" is not an id: 1 to 9223372036854775807, a decimal id without sign, spaces or leading zeros.`,
    );
  }
}

export class NoRecordedRace extends LockstepError {
  readonly code = 'NO_RECORDED_RACE';

  constructor(file: string, cause: unknown) {
    super(`${file} holds no recorded race; \`lockstep race\` writes one, race.json.`, { cause });
  }
}
