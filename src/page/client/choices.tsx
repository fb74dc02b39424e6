/** The choices of a play: those that each lane has now, and the row of those so far. */

import { signal } from '@preact/signals';
import { type Act, actOf, choicesCommand } from '../../lab/play/letters.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import { connection } from './api.ts';
import { ladderRow } from './built-rows.ts';
import { Button } from './controls.tsx';
import { saveReplay } from './event-log.ts';
import { faultsIn } from './faults.ts';
import { type LaneView, lettersOf, type PlayView } from './play-model.ts';
import { addressOfPlay, backTo, branchTo, choose, go, isReady, tried } from './store.ts';
import { page } from './texts.ts';

/** At the end of each lane: what it will do next, or why it cannot go. */
export function Ends({ of }: { of: PlayView }) {
  const lanes = [...of.lanes.values()];
  return (
    <div class="thumb">
      <div class="ends">
        {lanes.map((lane) => (
          <End key={lane.name} lane={lane} of={of} />
        ))}
      </div>
      <Faults of={of} />
    </div>
  );
}

const processFaults: readonly Act['does'][] = ['kill', 'pause', 'resume', 'block', 'cut-off'];

/** A fault of a process has the name of the process, another one that of its lane or server. */
function faultText(choice: string, { lanes }: PlayView): string {
  const { does, to } = actOf(choice);
  if (does === 'move') return '';
  const { faultNames, words } = page.value;
  const [process, other] =
    to === workerLane ? [words.processOfWorker, words.worker] : [lanes.get(to)?.instance ?? '', to];
  return faultNames[does](processFaults.includes(does) ? process : other);
}

/** Those of the lanes first; those of the servers, and of the lock, where somebody looks. */
function Faults({ of }: { of: PlayView }) {
  const faults = faultsIn(of);
  if (faults.length === 0) return null;
  const isRare = (choice: string) =>
    ['forget', 'nest', 'cut-off', 'block', 'pass-time', 'break'].includes(actOf(choice).does);
  const { orBreak, breakServers } = page.value.words;
  const rare = faults.filter(isRare);
  return (
    <div class="row wrap faults">
      <small>{orBreak}</small>
      <FaultButtons of={of} faults={faults.filter((choice) => !isRare(choice))} />
      {rare.length > 0 && (
        <details>
          <summary>{breakServers}</summary>
          <div class="row wrap">
            <FaultButtons of={of} faults={rare} />
          </div>
        </details>
      )}
    </div>
  );
}

const FaultButtons = ({ of, faults }: { of: PlayView; faults: readonly string[] }) => (
  <>
    {faults.map((choice) => (
      <Button
        class={['resume', 'start', 'mend'].includes(actOf(choice).does) ? '' : 'fault'}
        key={choice}
        data-fault={choice}
        shortcut={choice.split('').join(' ')}
        disabled={!isReady.value}
        onClick={() => choose(choice)}
      >
        {faultText(choice, of)}
      </Button>
    ))}
  </>
);

/** Of a lane that nobody can move. */
function overText({ name, state }: LaneView): string | undefined {
  const { noOrder, stopped } = page.value.words;
  const texts: Readonly<Record<string, string>> = {
    answered: `✓ ${name}`,
    dead: `✕ ${name}`,
    paused: `∥ ${name}`,
    free: `◌ ${name} ${noOrder}`,
    stopped: `∥ ${name} ${stopped}`,
  };
  return texts[state];
}

function End({ lane, of }: { lane: LaneView; of: PlayView }) {
  const { name, state, checkpoint, waitsOn = 'lock', waitsFor } = lane;
  const { next, waits } = page.value;
  if (state === 'waits')
    return (
      <p class="wait-text" data-waits={name}>
        ◌ {name} {waits(waitsOn, waitsFor)}
      </p>
    );
  const over = overText(lane);
  if (over) return <p class="dim">{over}</p>;
  const row = ladderRow(of.rung);
  const place = state === 'at' ? (checkpoint ?? '') : state;
  return (
    <Button
      class="next"
      data-lane={name}
      shortcut={name}
      disabled={!isReady.value}
      onClick={() => choose(name)}
    >
      {name} {next(place, row?.hasLock ?? false, row?.sale ?? 'one-user')}
    </Button>
  );
}

const isCopied = signal(false);

/** The row of choices is the schedule, the link, the command and the replay. */
export function ChoicesStrip({ of }: { of: PlayView }) {
  const { words } = page.value;
  const count = of.choices.length;
  const isLive = connection.value !== 'recorded';
  return (
    <section class="strip" aria-label={words.choices}>
      <small>{words.choices}</small>
      {of.choices.map(({ choice, isTaken }, index) => (
        <Button
          key={index}
          aria-label={`${index + 1}: ${choice}`}
          class={`step ${index === count - 1 ? 'now' : ''} ${isTaken ? '' : 'stuck'}`}
          disabled={!isLive}
          onClick={() => backTo(index + 1)}
        >
          {choice}
        </Button>
      ))}
      {isLive && (
        <Button
          data-back
          shortcut="⌫"
          disabled={count === 0 || !isReady.value}
          onClick={() => backTo(count - 1)}
        >
          {words.back}
        </Button>
      )}
      {isLive && <Tree of={of} />}
      {isLive && <Sharing of={of} />}
    </section>
  );
}

const shownBranches = 8;

/** So many letters are the same in both. */
function sharedBy(one: string, other: string): number {
  const index = [...one].findIndex((letter, at) => letter !== other[at]);
  return index < 0 ? one.length : index;
}

/** Every branch that was tried on this rung: the longest choices of each, and where it leaves. */
function Tree({ of }: { of: PlayView }) {
  const all = [...(tried.value.get(of.rung) ?? [])];
  const own = lettersOf(of);
  const leaves = all.filter(
    (choices) =>
      choices !== own && !all.some((each) => each !== choices && each.startsWith(choices)),
  );
  if (leaves.length === 0) return null;
  return (
    <span class="tree">
      <small>{page.value.words.tree}</small>
      {leaves.slice(-shownBranches).map((choices) => (
        <Button key={choices} data-branch={choices} onClick={() => branchTo(choices)}>
          <span class="dim">{choices.slice(0, sharedBy(choices, own))}</span>
          {choices.slice(sharedBy(choices, own))}
        </Button>
      ))}
    </span>
  );
}

function Sharing({ of }: { of: PlayView }) {
  const { words } = page.value;
  return (
    <span class="row wrap right">
      <Button data-link shortcut="L" onClick={() => void copyLink()}>
        {isCopied.value ? words.copied : words.copyLink}
      </Button>
      <Button data-export shortcut="F" onClick={() => void saveReplay(of)}>
        {words.export}
      </Button>
      <details class="more">
        <summary>…</summary>
        <More of={of} />
      </details>
    </span>
  );
}

function More({ of }: { of: PlayView }) {
  const { words } = page.value;
  const wanted = addressOfPlay(of);
  const buyers = wanted.lanes;
  const command = choicesCommand(of.rung, {
    choices: lettersOf(of) || 'A',
    stopsEverywhere: of.stopsEverywhere,
  });
  return (
    <div class="panel">
      <small>{words.terminal}</small>
      <pre class="code">{command}</pre>
      <div class="row wrap">
        {buyers < 4 && (
          <Button onClick={() => go({ ...wanted, choices: '', lanes: buyers + 1 })}>
            {words.moreBuyers}
          </Button>
        )}
        <Button
          onClick={() => go({ ...wanted, choices: '', stopsEverywhere: !wanted.stopsEverywhere })}
        >
          {wanted.stopsEverywhere ? words.stopsOnly : words.everyCheckpoint}
        </Button>
      </div>
    </div>
  );
}

/** The clipboard may refuse: then the address bar has the link. */
export async function copyLink(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    return;
  }
  isCopied.value = true;
  setTimeout(() => {
    isCopied.value = false;
  }, 1_500);
}
