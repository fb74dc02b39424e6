/** Every error that the lab, the page and the commands raise: rows, as in service/errors.ts. */
import { errorMaker, errorTest } from '../service/errors.ts';
import { didYouMean } from '../service/spelling.ts';

/** By code. A comment says when it is raised. */
const sentences = {
  UNKNOWN_RACE: (race: string, known: readonly string[]) =>
    `There is no race "${race}".${didYouMean(race, known)} The races are: ${known.join(', ')}.`,
  /** `lockstep race` plays one. */
  RACE_MISSING: () => 'Name a race. All of them: npx lockstep race --list',
  RACE_HAS_STEPS: (race: string) =>
    `The steps of ${race} are fixed: leave its name out, or the choices.`,
  /** `--every-checkpoint` says how choices are played. */
  CHOICES_MISSING: () =>
    '--every-checkpoint and --commands need --choices: npx lockstep race --choices AABB --rung redis-atomic',
  RUNG_MISSING: () => 'Choices need a rung: name it with --rung. `npx lockstep ladder` shows all.',
  /** The same choices led to another place: a machine that is too slow, or somebody else. */
  ORDER_NOT_REPLAYED: (wanted: string, played: string) =>
    `The choices ${wanted} were played as ${played}. Is the machine busy? Play it again.`,
  /** A play of choices ended in a way that no choice brings. */
  CHOICES_DISTURBED: (what: string) =>
    `Nothing can be told, because ${what}. Is a server down, or the machine busy?`,
  NOTHING_TO_END: () => 'No `lockstep break` runs in this lab.',
  K6_FAILED: (exitCode: number | undefined, said: string) =>
    `k6 bought nothing and ended with exit code ${exitCode ?? 'none'}: ${said.trim()}`,
  /** The page plays one race, or one drill, at a time. */
  RUN_GOES_ON: () => 'A race or a drill is running. Wait for its end, or stop it, and begin again.',
  /** A race or a drill needs the whole lab. */
  PLAYS_GO_ON: () =>
    'Another viewer is playing. Press "Give the lab back" to end all plays, and begin again.',
  /** In a room a fault of a process, and the order worker, hit everybody. */
  INSTRUCTORS_ALONE: () =>
    'Processes, servers and the order worker are the instructor’s: a fault there hits all.',
  ROOM_FULL: (most: number) =>
    `${most} learners are in the room. A place is free two minutes after one of them closes the page.`,
  WRONG_CODE: () =>
    'This is not the code of the room. It stands beside its address, on the projector.',
  /** So that nobody can try them all. */
  TOO_MANY_CODES: (waitSeconds: number) =>
    `Too many wrong codes were sent. Wait ${waitSeconds} seconds, and type it again.`,
  /** An address that this machine does not have, or whose port is taken. */
  ROOM_NOT_OPENED: (address: string) =>
    `The room cannot open at ${address}. Choose an address of this machine.`,
  UNKNOWN_DRILL: (drill: string, known: readonly string[]) =>
    `There is no drill "${drill}".${didYouMean(drill, known)} The drills are: ${known.join(', ')}.`,
  PROGRAM_MISSING: (program: string, remedy = 'npm run setup') =>
    `${program} is not installed. Run \`${remedy}\`, or use docs/install.md.`,
  NO_FREE_PORTS: (from: number) =>
    `There are not enough free loopback ports from ${from} on. Stop labs that you do not need.`,
  /** @param user its pid, and what it is */
  LAB_BUSY: (user: string, home: string) =>
    `The lab in ${home} is in use by process ${user}. Wait for it, or end it.`,
  /** A Redis of the lab did not take a write that the lab needs. */
  REDIS_REFUSED: (server: string, answer: string) =>
    `${server} refused a write of the lab: ${answer}. Its log says why; then start again.`,
  /** Every instance must learn of a new voucher, and one of them, or a store, stands still. */
  PROCESS_PAUSED: () =>
    'A process is paused, or a server broken, in a play that is open: mend it, or end that play, and try again.',
  /** Every play has the same order worker. */
  WORKER_HELD: () =>
    'The order worker stands, or is stopped, in a play that is open: let it go on there, and try again.',
  /** A choice names a lane that the play does not have. */
  UNKNOWN_LANE: (choice: string, lanes: readonly string[]) =>
    `There is no lane for ${choice}. The lanes are: ${lanes.join(', ')}.`,
  /** The page is there, and its lab is not whole. */
  LAB_NOT_RUNNING: () =>
    'A server of this lab has ended. Start it again: `npm run down`, then `npm run up`.',
  OTHER_DATABASE: (running: string) =>
    `The lab runs on ${running}. Stop it with \`npm run down\`, then run this again.`,
  /** A fault by hand is still there, and a result would be about it. */
  LAB_HAS_FAULT: (name: string, state: 'paused' | 'stopped') =>
    `${name} is ${state}: results would be wrong. End all faults: npx lockstep fault heal`,
  LAB_DOWN: () => 'The lab is not running. Start it with `npm run up`.',
  /** A fault is about one server. */
  SERVER_NAME_MISSING: (verb: string) =>
    `Name the server: npx lockstep fault ${verb} redis-2. \`npx lockstep status\` lists them.`,
  UNKNOWN_SERVER: (name: string, known: readonly string[]) =>
    `The lab has no server "${name}".${didYouMean(name, known)} Its servers are: ${known.join(', ')}.`,
  /** The service refused a request of the lab, its operator. */
  SERVICE_REFUSED: (request: string, status: number, detail: string) =>
    `The service answered ${status} to ${request}: ${detail}`,
  UNKNOWN_VOUCHER: (voucherId: string) =>
    `There is no voucher ${voucherId} in this lab; \`curl <url>/vouchers\` lists the vouchers.`,
  LAB_STATE_UNREADABLE: (file: string) =>
    `${file} is damaged. End the lab's processes that \`ps\` shows, and remove its folder.`,
  SERVER_ENDED: (name: string, logFile: string) =>
    `${name} ended right after its start. Its log has the reason: ${logFile}`,
  SERVER_DOWN: (name: string) => `${name} does not run. Start it: npx lockstep fault start ${name}`,
  SYNCS_NOT_SEEN: (pid: number) =>
    `Process ${pid} has no thread bio_aof…, so nothing shows when it syncs its append-only file. ` +
    'This fault needs Linux and a Redis of version 6 or newer.',
  INTERRUPTED: () => 'Interrupted.',
  INVALID_ID: (id: string) =>
    `"${id}" is not an id. An id is a decimal number from 1 to 9223372036854775807, ` +
    'without sign, spaces or leading zeros.',
  INVALID_RANGE: (users: string, most: number) =>
    `"${users}" is not a range of users. A range is first..last, as 1..2000, with the smaller ` +
    `id first and at most ${most} users.`,
  REBUILD_OF_ONE: () => '--rebuild stops every sale, and rebuilds every voucher. Leave the id out.',
  NO_RECORDED_RACE: (file: string) =>
    `${file} is not a recorded race. \`npx lockstep race\` writes one as race.json.`,
  /** A proxy of the lab did not do what a fault asked for. */
  PROXY_REFUSED: (proxy: string, status: number | 'nothing') =>
    `The proxy of ${proxy} answered ${status}. See proxies.log in the lab's folder.`,
  /** A fault needs proxies, a replica or Sentinels, and the lab runs without them. */
  NETWORK_MISSING: (needed: string, present: string) =>
    `This fault needs the network "${needed}", and the lab runs with "${present}". ` +
    `Run \`npm run down\`, then \`npm run up -- --network ${needed}\`.`,
  /** An instance of the lab did not do what a fault asked for. */
  INSTANCE_REFUSED: (instance: string, status: number | 'nothing') =>
    `${instance} answered ${status} to a fault. See service.log in the lab's folder.`,
  /** The fault is about what only a Redis has: keys, scripts, a replica. */
  NOT_A_REDIS: (name: string) =>
    `"${name}" is no Redis of the service; this fault needs one: redis-main, redis-1, …`,
  NO_DATA_TO_LOSE: (name: string) =>
    `${name} has no data, so it cannot start without it. \`restart\` restarts it.`,
  NOT_PROXIED: (name: string, known: readonly string[]) =>
    `There is no proxy in front of "${name}". There is one for: ${known.join(', ')}.`,
  NO_SESSION: (process: string) =>
    `${process} has no connection to ZooKeeper, so it has no session that could expire. ` +
    'An instance has one once it has sold on the rung zookeeper.',
  BARE_INSTANCE_ENDED: (upstream: string) =>
    `The bare process at ${upstream} ended before it listened. Is the port in use?`,
  /** A load by HTTP cannot stop at the last unit: it would be refused at the end. */
  ORDERS_NEED_SCRIPT: (most: number) =>
    `More than ${most} orders of one voucher are bought by its script only: add --by-script.`,
  /** `bench --gate` compares with an earlier run. */
  NO_RECORDED_BENCH: (file: string) =>
    `${file} has no figures of \`npx lockstep bench\`: name the bench.json of its folder.`,
  REDISSON_ENDED: () =>
    'The JVM with Redisson ended. Run it by hand to see why: ' +
    "java -cp '.lockstep/redisson/*' bench/RedissonCycles.java redis://127.0.0.1:6379",
  /** The text that a mutant replaces is not there, or several times: it would be another mutant. */
  MUTANT_TEXT_MISSING: (mutant: string, file: string, count: number, find: string) =>
    `${mutant}: ${file} has this text ${count} times, and once was expected. ` +
    `Correct the row of the mutant: ${find.trim()}`,
  UNKNOWN_MUTANT: (mutant: string, known: readonly string[]) =>
    `There is no mutant "${mutant}". The mutants are: ${known.join(', ')}.`,
  UNKNOWN_TRIAL: (trial: string, known: readonly string[]) =>
    `There is no trial "${trial}".${didYouMean(trial, known)} They are: ${known.join(', ')}.`,
  UNKNOWN_ERRATUM: (name: string, known: readonly string[]) =>
    `There is no erratum "${name}".${didYouMean(name, known)} They are: ${known.join(', ')}.`,
  /** The moment that decides a trial of a mutant was not reached. */
  TRIAL_NOT_PLAYED: (why: string) =>
    `The fault did not meet its moment: ${why}. Run the mutant again.`,
  /** The description of another service, for `bench --beside`. */
  OTHER_SERVICE_INVALID: (file: string, reason: string) =>
    `${file} describes no service: ${reason}. Its form is in docs/benchmarks.md.`,
  /** `verify` and `mine` work on the exercise that was begun. */
  NO_EXERCISE: () => 'No exercise was begun. `npx lockstep exercise` lists them.',
  UNKNOWN_CHOICE: (letter: string, letters: readonly string[]) =>
    `"${letter}" is no choice of this step. They are: ${letters.join(', ')}.`,
  /** A step is played after it was predicted. */
  NOT_PREDICTED: () => 'Predict first: `npx lockstep workshop` shows the question and its choices.',
  UNKNOWN_EXERCISE: (name: string, known: readonly string[]) =>
    `There is no exercise "${name}".${didYouMean(name, known)} They are: ${known.join(', ')}.`,
  /** The learner's files. */
  CANNOT_COMPILE: (messages: string) => `Your files do not compile:\n${messages.trim()}`,
  /** A drill by its name has its own load and faults. */
  DRILL_HAS_FAULTS: (drill: string) =>
    `The load and the faults of ${drill} are fixed: leave its name out, or --on and --faults.`,
  /** That of a named drill decides which faults come, and in which sequence. */
  DRILL_HAS_NO_SEED: (seed: number) =>
    `A drill of your own has no seed (${seed}): its faults come at the seconds that you write.`,
  DRILL_INCOMPLETE: () =>
    'A drill of your own needs a rung and faults: ' +
    "npx lockstep drill --on redlock --faults '10 stop redis-2, 20 start redis-2'",
  FAULT_UNREADABLE: (step: string) =>
    `"${step}" cannot be read. Write the second, the verb and the server, with commas ` +
    "between: '10 stop redis-2, 15 slow redis-1 --ms 500, 20 heal'. `heal` and `end` take no server.",
  UNKNOWN_FAULT: (verb: string, known: readonly string[]) =>
    `There is no verb "${verb}".${didYouMean(verb, known)} The verbs are: ${known.join(', ')}.`,
  /** A clock, or an event loop, is that of an instance. */
  NOT_AN_INSTANCE: (name: string, known: readonly string[]) =>
    `"${name}" is no instance; this fault needs one: ${known.join(', ')}.`,
  FAULTS_NOT_IN_ORDER: (step: string, before: string) =>
    `"${step}" stands after "${before}": write them in the order of their times, \`end\` last.`,
  /** The load would be over. */
  FAULTS_TOO_LATE: (step: string, mostSeconds: number) =>
    `"${step}" is too late: this load has faults until second ${mostSeconds}.`,
  /** `break` sells on one rung; k6 on that alone. */
  NOT_BESIDE: () => 'Another rung goes beside a rung, and k6 buys on one rung alone.',
  K6_TOO_FAST: (mostPerSecond: number) =>
    `k6/failover.js sends at most ${mostPerSecond} purchases a second here.`,
};

export type LabErrorCode = keyof typeof sentences;

export const labError = errorMaker(sentences);
export const isLabError = errorTest<LabErrorCode>();
