/**
 * Every error that the lab and the command line raise themselves: a class, a stable code, a
 * sentence.
 */
import { LockstepError } from '../errors.ts';

export class UnknownRace extends LockstepError {
  readonly code = 'UNKNOWN_RACE';

  constructor(race: string, known: readonly string[]) {
    super(`There is no race "${race}". The races are: ${known.join(', ')}.`);
  }
}

export class UnknownDrill extends LockstepError {
  readonly code = 'UNKNOWN_DRILL';

  constructor(drill: string, known: readonly string[]) {
    super(`There is no drill "${drill}". The drills are: ${known.join(', ')}.`);
  }
}

/** A program that the lab starts is not on this machine. */
export class ProgramMissing extends LockstepError {
  readonly code = 'PROGRAM_MISSING';

  constructor(program: string) {
    super(
      `${program} is not installed. Run \`npm run setup\`, or use docker compose (see README).`,
    );
  }
}

/** Every port that the lab may use is in use. */
export class NoFreePorts extends LockstepError {
  readonly code = 'NO_FREE_PORTS';

  constructor(from: number) {
    super(
      `There are not enough free loopback ports from ${from} on. Stop labs that you do not need.`,
    );
  }
}

/** Another command uses this lab at the moment. */
export class LabBusy extends LockstepError {
  readonly code = 'LAB_BUSY';

  constructor(pid: string, home: string) {
    super(`The lab in ${home} is in use by process ${pid}. Wait for it, or end it.`);
  }
}

/** The lab runs on another database than the command asks for. */
export class OtherDatabase extends LockstepError {
  readonly code = 'OTHER_DATABASE';

  constructor(running: string) {
    super(`The lab runs on ${running}. Stop it with \`npm run down\`, then run this again.`);
  }
}

/** The lab is not running, and the command needs a running lab. */
export class LabDown extends LockstepError {
  readonly code = 'LAB_DOWN';

  constructor() {
    super('The lab is not running. Start it with `npm run up`.');
  }
}

/** A fault is about one server. */
export class ServerNameMissing extends LockstepError {
  readonly code = 'SERVER_NAME_MISSING';

  constructor(verb: string) {
    super(
      `Name the server: npx lockstep fault ${verb} redis-2. \`npx lockstep status\` lists them.`,
    );
  }
}

/** The lab has no server or process of this name. */
export class UnknownServer extends LockstepError {
  readonly code = 'UNKNOWN_SERVER';

  constructor(name: string, known: readonly string[]) {
    super(`The lab has no server "${name}". Its servers are: ${known.join(', ')}.`);
  }
}

/** The service refused a request of the lab, its operator. */
export class ServiceRefused extends LockstepError {
  readonly code = 'SERVICE_REFUSED';

  constructor(request: string, status: number, detail: string) {
    super(`The service answered ${status} to ${request}: ${detail}`);
  }
}

export class UnknownVoucher extends LockstepError {
  readonly code = 'UNKNOWN_VOUCHER';

  constructor(voucherId: string) {
    super(
      `There is no voucher ${voucherId} in this lab; \`curl <url>/vouchers\` lists the vouchers.`,
    );
  }
}

/** The file in which the lab keeps its ports and processes is damaged. */
export class LabStateUnreadable extends LockstepError {
  readonly code = 'LAB_STATE_UNREADABLE';

  constructor(file: string, cause: unknown) {
    super(`${file} is damaged. End the lab's processes that \`ps\` shows, and remove its folder.`, {
      cause,
    });
  }
}

/** A server of the lab ended while the lab waited for its first answer. */
export class ServerEnded extends LockstepError {
  readonly code = 'SERVER_ENDED';

  constructor(name: string, logFile: string) {
    super(`${name} ended right after its start. Its log has the reason: ${logFile}`);
  }
}

/** The command was interrupted, so it starts nothing more. */
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
      `"${id}" is not an id. An id is a decimal number from 1 to 9223372036854775807, ` +
        'without sign, spaces or leading zeros.',
    );
  }
}

export class NoRecordedRace extends LockstepError {
  readonly code = 'NO_RECORDED_RACE';

  constructor(file: string, cause: unknown) {
    super(`${file} is not a recorded race. \`npx lockstep race\` writes one as race.json.`, {
      cause,
    });
  }
}
