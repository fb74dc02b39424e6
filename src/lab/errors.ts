/**
 * Every error that the lab and the command line raise themselves: a class, a stable code, a
 * sentence.
 */
import { LockstepError } from '../service/errors.ts';
import { didYouMean } from '../service/spelling.ts';

export class UnknownRace extends LockstepError {
  readonly code = 'UNKNOWN_RACE';

  constructor(race: string, known: readonly string[]) {
    super(
      `There is no race "${race}".${didYouMean(race, known)} The races are: ${known.join(', ')}.`,
    );
  }
}

/** `lockstep race` plays one. */
export class RaceMissing extends LockstepError {
  readonly code = 'RACE_MISSING';

  constructor() {
    super('Name a race. All of them: npx lockstep race --list');
  }
}

export class RaceHasSteps extends LockstepError {
  readonly code = 'RACE_HAS_STEPS';

  constructor(race: string) {
    super(`The steps of ${race} are fixed: leave its name out, or the choices.`);
  }
}

/** `--every-checkpoint` says how choices are played. */
export class ChoicesMissing extends LockstepError {
  readonly code = 'CHOICES_MISSING';

  constructor() {
    super(
      '--every-checkpoint and --commands need --choices: npx lockstep race --choices AABB --rung redis-atomic',
    );
  }
}

export class RungMissing extends LockstepError {
  readonly code = 'RUNG_MISSING';

  constructor() {
    super('Choices need a rung: name it with --rung. `npx lockstep ladder` shows all.');
  }
}

/** The same choices led to another place: the machine was too slow, or somebody else was there. */
export class OrderNotReplayed extends LockstepError {
  readonly code = 'ORDER_NOT_REPLAYED';

  constructor(wanted: string, played: string) {
    super(`The choices ${wanted} were played as ${played}. Is the machine busy? Play it again.`);
  }
}

/** A play of choices ended in a way that no choice brings. */
export class ChoicesDisturbed extends LockstepError {
  readonly code = 'CHOICES_DISTURBED';

  constructor(what: string) {
    super(`Nothing can be told, because ${what}. Is a server down, or the machine busy?`);
  }
}

export class NothingToEnd extends LockstepError {
  readonly code = 'NOTHING_TO_END';

  constructor() {
    super('No `lockstep break` runs in this lab.');
  }
}

export class CannotBreak extends LockstepError {
  readonly code: 'NOT_BESIDE' | 'K6_TOO_FAST';

  constructor(because: 'notBeside' | 'k6TooFast', mostK6PerSecond: number) {
    const texts = {
      notBeside: 'Another rung goes beside a rung, and k6 buys on one rung alone.',
      k6TooFast: `k6/failover.js sends at most ${mostK6PerSecond} purchases a second here.`,
    };
    super(texts[because]);
    this.code = because === 'notBeside' ? 'NOT_BESIDE' : 'K6_TOO_FAST';
  }
}

export class K6Failed extends LockstepError {
  readonly code = 'K6_FAILED';

  constructor(exitCode: number | undefined, said: string) {
    super(`k6 bought nothing and ended with exit code ${exitCode ?? 'none'}: ${said.trim()}`);
  }
}

/** An experiment that has the lab could not do what somebody asked it for. */
export class FaultNotTaken extends LockstepError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The page plays one race, or one drill, at a time. */
export class RunGoesOn extends LockstepError {
  readonly code = 'RUN_GOES_ON';

  constructor() {
    super('A race or a drill is running. Wait for its end, or stop it, and begin again.');
  }
}

/** A race or a drill needs the whole lab. */
export class PlaysGoOn extends LockstepError {
  readonly code = 'PLAYS_GO_ON';

  constructor() {
    super(
      'Another viewer is playing. Press "Give the lab back" to end all plays, and begin again.',
    );
  }
}

/** In a room a fault of a process, and the order worker, hit everybody. */
export class InstructorsAlone extends LockstepError {
  readonly code = 'INSTRUCTORS_ALONE';

  constructor() {
    super('Processes, servers and the order worker are the instructor’s: a fault there hits all.');
  }
}

export class RoomFull extends LockstepError {
  readonly code = 'ROOM_FULL';

  constructor(most: number) {
    super(
      `${most} learners are in the room. A place is free two minutes after one of them closes the page.`,
    );
  }
}

export class WrongCode extends LockstepError {
  readonly code = 'WRONG_CODE';

  constructor() {
    super('This is not the code of the room. It stands beside its address, on the projector.');
  }
}

/** So that nobody can try them all. */
export class TooManyCodes extends LockstepError {
  readonly code = 'TOO_MANY_CODES';

  constructor(waitSeconds: number) {
    super(`Too many wrong codes were sent. Wait ${waitSeconds} seconds, and type it again.`);
  }
}

/** An address that this machine does not have, or whose port is taken. */
export class RoomNotOpened extends LockstepError {
  readonly code = 'ROOM_NOT_OPENED';

  constructor(address: string, options: ErrorOptions = {}) {
    super(`The room cannot open at ${address}. Choose an address of this machine.`, options);
  }
}

export class UnknownDrill extends LockstepError {
  readonly code = 'UNKNOWN_DRILL';

  constructor(drill: string, known: readonly string[]) {
    super(
      `There is no drill "${drill}".${didYouMean(drill, known)} The drills are: ${known.join(', ')}.`,
    );
  }
}

/** A program that the lab starts is not on this machine. */
export class ProgramMissing extends LockstepError {
  readonly code = 'PROGRAM_MISSING';

  constructor(program: string, remedy = 'npm run setup') {
    super(`${program} is not installed. Run \`${remedy}\`, or use docs/lab-in-a-container.md.`);
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

  /** @param user its pid, and what it is */
  constructor(user: string, home: string) {
    super(`The lab in ${home} is in use by process ${user}. Wait for it, or end it.`);
  }
}

/** A Redis of the lab did not take a write that the lab needs. */
export class RedisRefused extends LockstepError {
  readonly code = 'REDIS_REFUSED';

  constructor(server: string, answer: string) {
    super(`${server} refused a write of the lab: ${answer}. Its log says why; then start again.`);
  }
}

/** Every instance must learn of a new voucher, and one of them stands still. */
export class ProcessPaused extends LockstepError {
  readonly code = 'PROCESS_PAUSED';

  constructor() {
    super(
      'A process is paused in a play that is open: resume it, or end that play, and try again.',
    );
  }
}

/** Every play has the same order worker. */
export class WorkerHeld extends LockstepError {
  readonly code = 'WORKER_HELD';

  constructor() {
    super(
      'The order worker stands, or is stopped, in a play that is open: let it go on there, and try again.',
    );
  }
}

/** A choice names a lane that the play does not have. */
export class UnknownLane extends LockstepError {
  readonly code = 'UNKNOWN_LANE';

  constructor(choice: string, lanes: readonly string[]) {
    super(`There is no lane for ${choice}. The lanes are: ${lanes.join(', ')}.`);
  }
}

/** The page is there, and its lab is not whole. */
export class LabNotRunning extends LockstepError {
  readonly code = 'LAB_NOT_RUNNING';

  constructor() {
    super('A server of this lab has ended. Start it again: `npm run down`, then `npm run up`.');
  }
}

/** The lab runs on another database than the command asks for. */
export class OtherDatabase extends LockstepError {
  readonly code = 'OTHER_DATABASE';

  constructor(running: string) {
    super(`The lab runs on ${running}. Stop it with \`npm run down\`, then run this again.`);
  }
}

/** A fault by hand is still there, and a result would be about it. */
export class LabHasFault extends LockstepError {
  readonly code = 'LAB_HAS_FAULT';

  constructor(name: string, state: 'paused' | 'stopped') {
    super(`${name} is ${state}: results would be wrong. End all faults: npx lockstep fault heal`);
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
    super(
      `The lab has no server "${name}".${didYouMean(name, known)} Its servers are: ${known.join(', ')}.`,
    );
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

/** This fault needs a server that runs. */
export class ServerDown extends LockstepError {
  readonly code = 'SERVER_DOWN';

  constructor(name: string) {
    super(`${name} does not run. Start it: npx lockstep fault start ${name}`);
  }
}

/** Nothing shows when this Redis syncs its append-only file. */
export class SyncsNotSeen extends LockstepError {
  readonly code = 'SYNCS_NOT_SEEN';

  constructor(pid: number) {
    super(
      `Process ${pid} has no thread bio_aof…, so nothing shows when it syncs its append-only file. ` +
        'This fault needs Linux and a Redis of version 6 or newer.',
    );
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

export class InvalidRange extends LockstepError {
  readonly code = 'INVALID_RANGE';

  constructor(users: string, most: number) {
    super(
      `"${users}" is not a range of users. A range is first..last, as 1..2000, with the smaller ` +
        `id first and at most ${most} users.`,
    );
  }
}

export class RebuildOfOne extends LockstepError {
  readonly code = 'REBUILD_OF_ONE';

  constructor() {
    super('--rebuild stops every sale, and rebuilds every voucher. Leave the id out.');
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

/** A proxy of the lab did not do what a fault asked for. */
export class ProxyRefused extends LockstepError {
  readonly code = 'PROXY_REFUSED';

  constructor(proxy: string, status: number | 'nothing', cause?: unknown) {
    super(`The proxy of ${proxy} answered ${status}. See proxies.log in the lab's folder.`, {
      cause,
    });
  }
}

/** A fault needs proxies, a replica or Sentinels, and the lab runs without them. */
export class NetworkMissing extends LockstepError {
  readonly code = 'NETWORK_MISSING';

  constructor(needed: string, present: string) {
    super(
      `This fault needs the network "${needed}", and the lab runs with "${present}". ` +
        `Run \`npm run down\`, then \`npm run up -- --network ${needed}\`.`,
    );
  }
}

/** An instance of the lab did not do what a fault asked for. */
export class InstanceRefused extends LockstepError {
  readonly code = 'INSTANCE_REFUSED';

  constructor(instance: string, status: number | 'nothing', cause?: unknown) {
    super(`${instance} answered ${status} to a fault. See service.log in the lab's folder.`, {
      cause,
    });
  }
}

/** The fault is about what only a Redis has: keys, scripts, a replica. */
export class NotARedis extends LockstepError {
  readonly code = 'NOT_A_REDIS';

  constructor(name: string) {
    super(`"${name}" is no Redis of the service; this fault needs one: redis-main, redis-1, …`);
  }
}

/** The server keeps nothing in files that it could lose. */
export class NoDataToLose extends LockstepError {
  readonly code = 'NO_DATA_TO_LOSE';

  constructor(name: string) {
    super(`${name} has no data, so it cannot start without it. \`restart\` restarts it.`);
  }
}

/** The lab has no proxy in front of this server. */
export class NotProxied extends LockstepError {
  readonly code = 'NOT_PROXIED';

  constructor(name: string, known: readonly string[]) {
    super(`There is no proxy in front of "${name}". There is one for: ${known.join(', ')}.`);
  }
}

/** The process has no session in ZooKeeper that could expire. */
export class NoSession extends LockstepError {
  readonly code = 'NO_SESSION';

  constructor(process: string) {
    super(
      `${process} has no connection to ZooKeeper, so it has no session that could expire. ` +
        'An instance has one once it has sold on the rung zookeeper.',
    );
  }
}

/** A process that a benchmark compares the instances with could not listen. */
export class BareInstanceEnded extends LockstepError {
  readonly code = 'BARE_INSTANCE_ENDED';

  constructor(upstream: string) {
    super(`The bare process at ${upstream} ended before it listened. Is the port in use?`);
  }
}

/** A load by HTTP cannot stop at the last unit: it would be refused at the end. */
export class OrdersNeedScript extends LockstepError {
  readonly code = 'ORDERS_NEED_SCRIPT';

  constructor(most: number) {
    super(
      `More than ${most} orders of one voucher are bought by its script only: add --by-script.`,
    );
  }
}

/** `bench --gate` compares with an earlier run. */
export class NoRecordedBench extends LockstepError {
  readonly code = 'NO_RECORDED_BENCH';

  constructor(file: string, cause: unknown) {
    super(`${file} has no figures of \`npx lockstep bench\`: name the bench.json of its folder.`, {
      cause,
    });
  }
}

/** The JVM of the lock benchmark ended before its measurement. */
export class RedissonEnded extends LockstepError {
  readonly code = 'REDISSON_ENDED';

  constructor() {
    super(
      'The JVM with Redisson ended. Run it by hand to see why: ' +
        "java -cp '.lockstep/redisson/*' bench/RedissonCycles.java redis://127.0.0.1:6379",
    );
  }
}

/** The text that a mutant replaces is not there, or several times: it would be another mutant. */
export class MutantTextMissing extends LockstepError {
  readonly code = 'MUTANT_TEXT_MISSING';

  constructor(mutant: string, file: string, count: number, find: string) {
    super(
      `${mutant}: ${file} has this text ${count} times, and once was expected. ` +
        `Correct the row of the mutant: ${find.trim()}`,
    );
  }
}

export class UnknownMutant extends LockstepError {
  readonly code = 'UNKNOWN_MUTANT';

  constructor(mutant: string, known: readonly string[]) {
    super(`There is no mutant "${mutant}". The mutants are: ${known.join(', ')}.`);
  }
}

export class UnknownTrial extends LockstepError {
  readonly code = 'UNKNOWN_TRIAL';

  constructor(trial: string, known: readonly string[]) {
    super(
      `There is no trial "${trial}".${didYouMean(trial, known)} They are: ${known.join(', ')}.`,
    );
  }
}

export class UnknownErratum extends LockstepError {
  readonly code = 'UNKNOWN_ERRATUM';

  constructor(name: string, known: readonly string[]) {
    super(
      `There is no erratum "${name}".${didYouMean(name, known)} They are: ${known.join(', ')}.`,
    );
  }
}

/** The moment that decides a trial of a mutant was not reached. */
export class TrialNotPlayed extends LockstepError {
  readonly code = 'TRIAL_NOT_PLAYED';

  constructor(why: string) {
    super(`The fault did not meet its moment: ${why}. Run the mutant again.`);
  }
}

/** The description of another service, for `bench --beside`. */
export class OtherServiceInvalid extends LockstepError {
  readonly code = 'OTHER_SERVICE_INVALID';

  constructor(file: string, reason: string) {
    super(`${file} describes no service: ${reason}. Its form is in docs/benchmarks.md.`);
  }
}

/** `verify` and `mine` work on the exercise that was begun. */
export class NoExercise extends LockstepError {
  readonly code = 'NO_EXERCISE';

  constructor() {
    super('No exercise was begun. `npx lockstep exercise` lists them.');
  }
}

/** A step has other choices. */
export class UnknownChoice extends LockstepError {
  readonly code = 'UNKNOWN_CHOICE';

  constructor(letter: string, letters: readonly string[]) {
    super(`"${letter}" is no choice of this step. They are: ${letters.join(', ')}.`);
  }
}

/** A step is played after it was predicted. */
export class NotPredicted extends LockstepError {
  readonly code = 'NOT_PREDICTED';

  constructor() {
    super('Predict first: `npx lockstep workshop` shows the question and its choices.');
  }
}

export class UnknownExercise extends LockstepError {
  readonly code = 'UNKNOWN_EXERCISE';

  constructor(name: string, known: readonly string[]) {
    super(
      `There is no exercise "${name}".${didYouMean(name, known)} They are: ${known.join(', ')}.`,
    );
  }
}

/** The learner's files. */
export class CannotCompile extends LockstepError {
  readonly code = 'CANNOT_COMPILE';

  constructor(messages: string) {
    super(`Your files do not compile:\n${messages.trim()}`);
  }
}
