/** The sentences of the page in English. */
import type { Arrivals } from '../../lab/by-hand/break-choice.ts';
import { brokenText, faultTitle, mendedText } from '../../lab/play/fault-choices.ts';
import type { Act } from '../../lab/play/letters.ts';
import type { LaneName, OutcomeSeen } from '../../lab/play/outcomes.ts';
import type { SaleKind } from '../../lab/play/set-up.ts';
import type { PartState, Reading } from '../../lab/stage/events.ts';
import type { Wait } from './play-model.ts';
import type { OfferedVerb } from './run-model.ts';

const count = (number: number, noun: string): string =>
  `${number.toLocaleString('en-US')} ${noun}${number === 1 ? '' : 's'}`;

const looks = {
  'one-user': 'looks for an order',
  'last-one': 'reads the stock',
  'last-one-queued': 'asks for the last one',
} as const;

export interface OutcomeTexts extends Readonly<Record<OutcomeSeen, string>> {
  readonly of: (lane: LaneName) => string;
}

/** The sentences of the page. Those in Chinese have its type, so none can be missing. */
export const en = {
  words: {
    ladder: 'Ladder',
    race: 'Race',
    language: '中文',
    open: 'connected',
    lost: 'the page’s server does not answer; trying again',
    noKey: 'This browser has no key. Run this, and open the address that it prints:',
    entering: 'connecting …',
    recorded: 'a recording: no server is needed',
    chapter: 'Chapter',
    rung: 'rung',
    claim: 'interleavings of two buyers that break it',
    lastSeen: 'you saw',
    notPlayed: 'not played',
    play: 'Play it',
    theCode: 'The code, here',
    trueNow: 'What is true now',
    feed: 'Everything that happened, in order',
    choices: 'your choices',
    back: '← Back',
    nextRung: 'Next rung, same choices →',
    copyLink: 'Copy link',
    copied: 'Copied',
    export: 'Export',
    predictFirst: 'First, predict',
    predicted: 'You predicted',
    seen: 'Seen',
    audit: 'The audit',
    held: 'every promise held',
    heldSoFar: 'held so far',
    violated: 'broken',
    breakServers: 'more to break',
    orBreak: 'or break:',
    lanes: 'Steps',
    state: 'State',
    firstDifference: 'the first difference',
    sameChoices: 'The same choices, two rungs',
    backToPlay: '← Back to the play',
    tree: 'tried here:',
    free: 'free',
    none: 'none',
    preparing: 'The lab is getting ready; this takes a few seconds.',
    giveBack: 'Give the lab back',
    counting: 'Playing every interleaving of two buyers …',
    again: 'Play it 10 times',
    proof: 'The proof',
    because: 'Why:',
    close: 'Close',
    terminal: 'In the terminal',
    everyCheckpoint: 'Stop at every checkpoint',
    stopsOnly: 'Stop where it teaches',
    right: 'you were right',
    notRight: 'not what you predicted',
    moreBuyers: 'One more buyer',
    nothing: 'Nothing has happened yet. Choose who goes first.',
    cursor: 'shown so far',
    noAnswer: '? no answer',
    stuck: 'nobody can go on: the lock is not free',
    givingBack: 'Giving it back …',
    youDecide: 'You decide who goes next.',
    worker: 'order worker',
    processOfWorker: 'the process of W',
    commands: 'Play it once more, and show the commands to Redis and MySQL',
    commandsAre:
      'The same choices, played once more on another voucher, and what each of them sent:',
    noOrder: 'has no order in hand',
    stopped: 'is stopped',
    settled: 'has settled it, and is free',
    started: 'a new one runs',
    cannotTell: 'nobody can tell',
    over: 'This play is over: the lab was given back, or its place was needed.',
    failed: 'This play has failed, and proves nothing.',
    famous: 'Famous races here',
    breaksWhen: 'It breaks when',
    playsItself:
      'The race plays itself, step by step, on the real servers. What will the audit say?',
    doesNoHarm: 'it does no harm: the promise holds',
    doesHarm: 'it does harm: a promise breaks',
    heldPromise: 'held',
    itPlays: 'It plays, step by step …',
    stopIt: 'Stop it',
    asClaimed: 'as the ladder claims',
    notAsClaimed: 'NOT as the ladder claims',
    asExpected: 'as expected',
    notAsExpected: 'NOT as expected',
    alsoBroken: 'Also broken:',
    inMysql: 'in MySQL',
    runFailed: 'It failed, and proves nothing:',
    playAgain: 'Play it again',
    playByHand: 'Play it by hand',
    report: 'The report, and trace.json for ui.perfetto.dev:',
    drills: 'Drills',
    drillsAre:
      'Load, faults and an audit. Each runs on the servers of this lab, and leaves a report.',
    drillPlaysItself:
      'It runs on the real servers, and breaks them under load. What will the audit say?',
    unknownAnswer: 'unknown (it may have been sold)',
    load: 'load',
    answersPerSecond: 'answers a second',
    second: 'second',
    p99: 'p99 answer time',
    figures: 'Figures',
    faults: 'Faults',
    repeatIt: 'Repeat it',
    machine: 'Machine and versions',
    breakIt: 'Break it',
    breakItIs:
      'Purchases on one rung or two, through nginx, on several instances; every tenth buyer asks twice, and a buyer without a final answer asks again, ten times a second. With k6 a user asks a second time only after an unknown answer. Break and mend its servers while it sells; the audit tells what it cost.',
    rate: 'purchases a second on each',
    beginLoad: 'Begin the load',
    beside: 'beside it',
    noRungBeside: 'no other rung',
    notBeside: 'Another rung goes beside it, and k6 buys on one rung alone.',
    k6TooFast: 'k6 sends at most 200 purchases a second here.',
    arrivals: 'buyers come',
    byInstance: 'sales by instance',
    salesPerSecond: 'sales a second',
    workshop: 'Workshop',
    docs: 'Docs',
    docsAt: '/docs',
    itSells: 'It sells. Choose a server, and break it.',
    sellsNothing: 'Nothing was sold in the last second.',
    auditing: 'The load ends: the last answers and orders, and then the audit …',
    chooseAgain: 'Choose a rung and a load',
    withoutFaults: 'The same load. Its faults were made by hand: they are in the list below.',
    servers: 'The servers of the sale',
    withSession: 'until its session ends',
    locksNow: 'Locks now, the oldest first',
    owned: 'owned',
    healAll: 'Mend everything',
    endLoad: 'End the load, and audit',
    time: 'Time',
    nextMoment: 'next',
    momentBefore: 'back',
    runTime: 'run',
    halt: 'halt',
    speed: 'speed',
    live: 'LIVE',
    theEnd: 'to the end',
    scoreboard: 'Scoreboard',
    scoreboardIs:
      'Each cell is a lock that met a fault, as docs/scoreboard.md has it; the small mark is what you have seen here. Choose a cell to play it.',
    isSaleRight: 'Is the sale right?',
    doesItSell: 'Does it sell on, while lock servers are away?',
    marks:
      '✓ every promise held · ✗ the data is wrong · ∥ two owners at once, the data is right · ⊘ a free lock could not be acquired · ? could not tell; the number counts the cases',
    outagesAre:
      '✓ sold on, – sold nothing meanwhile; seconds without a sale; + seconds until the first sale afterwards; ⊘ locks left behind. A cell opens the load that you break yourself.',
  },
  /** Of a sale: what was answered, and where the orders are. */
  counts: {
    accepted: 'accepted',
    waiting: 'not recorded yet',
    queued: 'queued',
    'in-hand': 'in a worker’s hand',
    recorded: 'recorded in MySQL',
    dead: 'dead-lettered',
    nowhere: 'in no store (in memory, or lost)',
    uncounted: 'in a worker’s hand, or lost',
    refused: 'refused',
    unknown: 'unknown',
    twice: 'second orders',
  },
  outcomes: {
    'one-user': {
      of: (lane) => `one order: the one of request ${lane}`,
      one: 'one order: the other requests are refused',
      two: 'more than one order for one user',
      none: 'no order: all requests fail',
    },
    'last-one': {
      of: (lane) => `${lane} buys it, and nobody else`,
      one: 'one of them buys the last voucher',
      two: 'more than one buys it: more than there was',
      none: 'nobody buys it',
    },
    'last-one-queued': {
      of: (lane) => `the order of ${lane}, and no other`,
      one: 'one order',
      two: 'more than one order',
      none: 'no order, although one was accepted',
    },
  } satisfies Readonly<Record<SaleKind, OutcomeTexts>>,
  outcomeShort: {
    of: (lane) => `one order, of ${lane}`,
    one: 'one order',
    two: 'more than one order',
    none: 'no order',
  } satisfies OutcomeTexts,
  ordersSeen: (count: number) =>
    count === 0 ? 'no order' : count === 1 ? 'one order' : `${count} orders`,
  readings: {
    mutex: (of) => `mutex in ${of}`,
    node: (of) => `${of}: owner`,
    key: (of) => `${of}: lock`,
    'stock-mysql': () => 'MySQL: stock',
    'stock-redis': () => 'Redis: stock',
    'on-its-way': () => 'sold in Redis, not in MySQL',
    orders: (of) => `MySQL: orders of ${of}`,
  } satisfies Readonly<Record<Reading['id'], (of: string) => string>>,
  /** What a lane will do, by the place at which it stands. */
  next: (place: string, hasLock: boolean, sale: SaleKind) =>
    ({
      idle: hasLock ? 'asks for the lock' : looks[sale],
      lost: 'asks again, with the same key',
      'after-acquire': looks[sale],
      'after-check': 'writes its order',
      'before-commit': 'commits',
      claimed: 'queues its order',
      delivered: 'begins to record it',
      recorded: 'is done with it',
    })[place] ?? 'goes on',
  question: (lanes: number, sale: SaleKind) =>
    ({
      'one-user': `${lanes} requests of one user, each in its own process. What will the user have?`,
      'last-one': `${lanes} users, each in its own process, and one voucher is left. What will happen?`,
      'last-one-queued': `${lanes} users and one voucher. A worker records the order. What will MySQL have?`,
    })[sale],
  aim: (sale: SaleKind) =>
    ({
      'one-user': 'Make one user get two orders.',
      'last-one': 'Make two users buy the last voucher.',
      'last-one-queued': 'Make an accepted order get lost.',
    })[sale],
  waits: (on: Wait, of: string | undefined) => {
    if (on === 'row' && of === undefined) return 'waits for a row of MySQL';
    if (on === 'row') return `waits for a row: the transaction of ${of} has it`;
    if (of === undefined) return 'waits for a lock that no buyer here has';
    if (on === 'dead') return `waits for ${of}, which is dead`;
    return `waits: ${of} has the lock`;
  },
  cannotGo: (why: string, of: string | undefined) =>
    ({
      waits: `cannot go: waits for ${of ?? 'a row'}`,
      dead: 'cannot go: its process is dead',
      paused: 'cannot go: its process stands still',
      idle: 'it has not begun',
      free: 'cannot go: it has no order in hand',
      stopped: 'cannot go: it is stopped',
      'no-worker': 'the order worker is no lane on this rung',
      'lose-answer': `the next answer of ${of} cannot be lost now`,
      pause: `the process of ${of} cannot be paused now`,
      resume: `the process of ${of} is not paused`,
      'end-lease': `${of} has no lease that can end`,
      'pass-time': `${of} has no lease that can end`,
      block: `the event loop of ${of} cannot be blocked now`,
      stop: `${of} cannot be stopped here`,
      start: `${of} cannot be started now`,
      kill: `the process of ${of} cannot be killed now`,
      forget: `${of} cannot forget its lock now`,
      nest: `${of} cannot buy inside its lock now`,
      break: 'that cannot be broken now',
      'cut-off': `${of} cannot be cut off now`,
      mend: 'that is not broken',
    })[why] ?? 'cannot go: it has its answer',
  fault: (does: string, to: string) =>
    ({
      'end-lease': 'its lease ends',
      'pass-time': 'the time of its lease passes',
      renewed: 'its lease is renewed',
      block: 'its event loop is blocked',
      pause: 'its process stands still',
      resume: 'its process runs again',
      'lose-answer': 'its answer will be lost',
      stop: to === 'W' ? 'stops' : `${to} stops`,
      forget: 'will forget to release its lock',
      nest: 'will buy inside its own lock',
      break: brokenText(to, 'en'),
      'cut-off': brokenText(to, 'en'),
      mend: mendedText(to, 'en'),
    })[does] ?? `${to} runs again`,
  /** What a choice does: to a process, a lane, or a server; `break` and `mend` name a fault. */
  faultNames: {
    kill: (process) => `Kill ${process}`,
    pause: (process) => `Pause ${process}`,
    resume: (process) => `Resume ${process}`,
    block: (process) => `Block the event loop of ${process}`,
    'cut-off': (process) => `Cut ${process} off from the lock`,
    'end-lease': (lane) => `End the lease of ${lane}`,
    'pass-time': (lane) => `Let the lease time of ${lane} pass`,
    'lose-answer': (lane) => `Lose the answer of ${lane}`,
    forget: (lane) => `Let ${lane} forget to release`,
    nest: (lane) => `Let ${lane} buy inside its lock`,
    stop: (server) => `Stop ${server}`,
    start: (server) => `Start ${server}`,
    break: (fault) => faultTitle(fault, 'en'),
    mend: (fault) => `Mend: ${faultTitle(fault, 'en')}`,
  } satisfies Readonly<Record<Exclude<Act['does'], 'move'>, (what: string) => string>>,
  atOnce: (lanes: string) => `${lanes} had the lock at once, and no data is wrong`,
  heldBy: (lane: string) => `${lane} has it`,
  seconds: (seconds: string) => `${seconds} s left`,
  ofOrders: (broken: number, orders: number) => `${broken} of ${orders}`,
  allOrders: (broken: number, orders: number) =>
    `${broken} of the ${orders} interleavings of two buyers break a promise.`,
  playedAgain: (violated: number, times: number) =>
    `Played again: broken ${violated} of ${times} times`,
  willPlay: (choices: string) => `These choices will be played: ${choices}`,
  /** Nobody has the lock: so many masters answer. */
  answer: (have: number, needed: number, all: number) =>
    `${have} of ${all} masters answer, ${needed} needed`,
  quorum: (have: number, needed: number, all: number) =>
    `${have} of ${all} masters, ${needed} needed: ${have >= needed ? 'enough' : 'not enough'}`,
  /** Its name, and what it will do. */
  handVerbs: {
    stop: ['Stop', 'SIGTERM: it ends in order, and refuses connections'],
    kill: ['Kill', 'SIGKILL: it ends at once'],
    pause: ['Pause', 'SIGSTOP: connections stay open, and nothing answers'],
    start: ['Start', 'it runs again, and every fault on it ends'],
    mend: ['Mend', 'every fault on it ends'],
    resume: ['Resume', 'SIGCONT: it goes on where it stood'],
    restart: ['Restart', 'killed, and started with its data'],
    'restart-empty': ['Restart empty', 'killed, and started without its data: its locks are gone'],
    'flush-all': ['FLUSHALL', 'it loses every key; mended, it has a copy from before'],
    'flush-scripts': ['SCRIPT FLUSH', 'it forgets its scripts'],
    'fill-disk': ['Fill its disk', 'it refuses writes, or ends'],
    slow: ['Slow', 'its answers come 2 s late'],
    drop: ['Cut off', 'connections stay open, and nothing arrives'],
    reset: ['Reset', 'every connection is reset'],
    refuse: ['Refuse', 'every connection is refused'],
    'block-event-loop': ['Block its loop', 'its process does nothing for 2 s'],
    'step-clock-back': ['Clock back', 'its wall clock is 2 s behind'],
    'step-clock-forward': ['Clock ahead', 'its wall clock is 2 s ahead'],
  } satisfies Readonly<Record<OfferedVerb, readonly [name: string, does: string]>>,
  /** Of a sale: how many of each reason. */
  refusedBecause: (counts: Readonly<Record<string, number>>) =>
    `refused: ${Object.entries(counts)
      .map(([reason, times]) => `${reason} ${times.toLocaleString('en-US')}`)
      .join(', ')}`,
  otherRun: (experiment: string) =>
    `${experiment} has the lab. Nothing else begins before it ends.`,
  asItWas: (seconds: string) => `You see it as it was at ${seconds} s.`,
  insideFor: (time: string) => `99 of 100 locks are kept for at most ${time}`,
  leaseEndsInside: (lease: string, time: string) =>
    `Unsafe: the lease is ${lease}, and 1 of 100 locks is kept for ${time} or longer. The lease may end inside the sale.`,
  renewed: (times: number) => `renewed ${times}×`,
  /** The lock servers that do not answer. */
  notRead: (servers: readonly string[]) =>
    `? Nobody can say which locks these have: ${servers.join(', ')}`,
  partStates: {
    runs: 'runs',
    paused: 'paused',
    stopped: 'stopped',
    killed: 'killed',
    ended: 'has ended',
  } satisfies Readonly<Record<PartState['state'] | 'killed' | 'ended', string>>,
  breakOn: (rungs: readonly string[]) => `Break it: ${rungs.join(' and ')}`,
  arrivals: {
    steady: 'one after the other',
    rush: 'in a rush every 10 seconds',
    k6: 'from k6/failover.js, for 5 minutes at most',
  } satisfies Readonly<Record<Arrivals, string>>,
  /** `2-stopped` */
  outage: (name: string) => name.replace('-', ' '),
  more: (count: number) => `and ${count} more`,
  faultCount: (faults: number) => `${count(faults, 'fault')}.`,
  /** A sentence for each thing that happens in a run. */
  told: {
    service: (instances: number, network: string) =>
      `${count(instances, 'instance')} of the service; the network is ${network}`,
    onSale: (rung: string, stock: number) => `${count(stock, 'voucher')} on sale, on ${rung}`,
  },
  onRung: (rung: string) => `on ${rung}`,
  onNextRung: (rung: string) => `The same race on ${rung} →`,
  checkNames: (names: readonly string[]) => names.join(', '),
  userOn: (userId: string, instance: string) =>
    instance ? `user ${userId} on ${instance}` : `user ${userId}`,
  /** A lane without a user: that of the order worker, or `S`. */
  laneOf: (lane: string): string => (lane === 'S' ? 'servers' : 'order worker'),
  order: (id: string) => `order …${id.slice(-4)}`,
  /** The room, and where a viewer finds nothing. */
  room: {
    room: 'Room',
    roomIs:
      'Learners play in their own browsers, on vouchers of their own. They cannot stop or kill anything: that stays with you. Everybody in this network who has the code can join. What is sent is not encrypted.',
    address: 'An address of this machine that the room can reach',
    open: 'Open the room',
    close: 'Close the room',
    code: 'Code',
    enterCode: 'The code of the room',
    join: 'Join',
    here: (here: number, joined: number, most: number) =>
      `${here} here, ${joined} joined, room for ${most}`,
    bring: 'Bring the room to a rung',
    predictions: 'predicted',
    plays: 'seen, in plays',
    nobodyYet: 'Nobody has predicted or played here yet.',
    broke: (broken: number, plays: number) => `${broken} of ${plays} plays broke a promise`,
    roomIsAt: (rung: string) => `The room is at ${rung}.`,
    goThere: 'Go there',
    closed: 'The room is closed.',
    closedIs:
      'The instructor has closed it, and every play in it ended. What you predicted and saw stays in this browser. Leave this page open: once the room is open again, it asks for the new code. On a machine of your own, the README says how to begin.',
    noPage: 'There is no such page.',
    noPageIs: (path: string) => `Nothing here has the address ${path}.`,
    instructors: 'This page is for the instructor.',
    instructorsIs:
      'What is done here would hit the plays of everybody in the room. The ladder and its races are yours.',
    toLadder: 'To the ladder',
    instructorsAlone: 'There is one order worker: the instructor plays this rung.',
  },
  problem: {
    INSTRUCTORS_ALONE: 'Processes, servers and the order worker are the instructor’s alone.',
    ROOM_FULL: 'The room is full. A place is free two minutes after a learner closes the page.',
    WRONG_CODE: 'This is not the code of the room. It stands on the projector.',
    TOO_MANY_CODES: 'Too many wrong codes were sent. Wait ten seconds, and type it again.',
    ROOM_NOT_OPENED: 'The room cannot open there. Choose an address of this machine.',
    NOTHING_TO_END: 'No load runs here.',
    RUN_GOES_ON: 'A race or a drill is running here. Wait for its end, or stop it.',
    PLAYS_GO_ON: 'Another viewer is playing. Give the lab back to end all plays, and begin again.',
    LAB_BUSY: 'A command has the lab. Try again when it has ended.',
    LAB_NOT_RUNNING: 'A server of the lab has ended: npm run down, then npm run up.',
    DEADLINE_PASSED: 'A step did not come to its end in time. The play is over.',
    'no-play': 'This play is over. Begin it again.',
    WORKER_HELD:
      'The order worker stands, or is stopped, in a play that is open: let it go on there first.',
    PROCESS_PAUSED:
      'A process is paused, or a server broken, in a play that is open: mend it first.',
    'invalid-request':
      'The address is no play. docs/races.md has the letters of its choices: A, XA, S2, KP, W …',
    'no-answer':
      'The page’s server does not answer. If the lab was stopped: npm run up prints a new address.',
  },
};
