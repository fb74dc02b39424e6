/** The servers of a sale: what each does now, and what can be done to it. */
import { signal } from '@preact/signals';
import type { HandVerb } from '../../lab/by-hand/asked-faults.ts';
import type { PartState } from '../../lab/stage/events.ts';
import { isBusy, send } from './api.ts';
import { endedBy, type OfferedVerb, offeredVerbs, tiersOf } from './hand-verbs.ts';
import { ladderRow } from './ladder-rows.ts';
import { brokenNames, type RunView } from './run-model.ts';
import { page } from './texts.ts';

const selected = signal('');
/** What the lab has said about the last fault. */
const answer = signal('');

interface Shown {
  readonly run: RunView;
  readonly isLive: boolean;
}

export function Servers({ run, isLive }: Shown) {
  const tiers = tiersOf(run.parts);
  const broken = brokenNames(run);
  const part = run.parts.find(({ name }) => name === selected.value);
  return (
    <section aria-label={page.value.words.servers}>
      <div class="parts" role="toolbar" onKeyDown={(event) => walk(event, tiers)}>
        {tiers.map((tier, index) => (
          <div class="tier" key={index}>
            {tier.map((each) => (
              <Part key={each.name} part={each} faults={faultsOf(each.name, broken)} />
            ))}
          </div>
        ))}
      </div>
      {isLive && part && <Menu part={part} faults={faultsOf(part.name, broken)} />}
    </section>
  );
}

/** A request does not come through, although the server runs. */
const cutsOff = /^(drop|reset|refuse) /;

/** Of a lock on several masters: whether enough of them answer. */
export function Quorum({ run, rung }: { run: RunView; rung: string }) {
  const { lockServers = [], lockNeeded = 0 } = ladderRow(rung) ?? {};
  if (lockServers.length < 2) return null;
  const broken = brokenNames(run);
  const isUp = ({ name, state }: PartState) =>
    state === 'runs' && !faultsOf(name, broken).some((fault) => cutsOff.test(fault));
  const up = run.parts.filter((part) => lockServers.includes(part.name) && isUp(part)).length;
  return (
    <p class={up < lockNeeded ? 'wrong-text' : 'held-text'} data-quorum={up}>
      {page.value.answer(up, lockNeeded, lockServers.length)}
    </p>
  );
}

/** `slow redis-3 by 2000 ms`; `slow database by 2000 ms` */
function faultsOf(name: string, broken: readonly string[]): string[] {
  const names = /^(mariadb|mysql)$/.test(name) ? [name, 'database'] : [name];
  return broken.filter((fault) => fault.split(' ').some((word) => names.includes(word)));
}

function Part({ part: { name, state }, faults }: { part: PartState; faults: readonly string[] }) {
  const { partStates } = page.value;
  const isOdd = state === 'runs' && faults.length > 0;
  const isNow = state === 'stopped' ? endedBy(faults) : state;
  const marks = { runs: isOdd ? '!' : '●', paused: '∥', stopped: '✕' } as const;
  return (
    <button
      type="button"
      class={`part ${state} ${isOdd ? 'odd' : ''}`}
      data-part={name}
      data-state={isOdd ? 'odd' : state}
      aria-pressed={selected.value === name}
      onClick={() => {
        selected.value = name;
        answer.value = '';
      }}
    >
      {marks[state]} {name}
      <small>{isOdd ? faults.at(-1) : partStates[isNow]}</small>
    </button>
  );
}

const mending: readonly OfferedVerb[] = ['start', 'resume', 'mend'];

/** What each fault will do stands beside it, before it is pressed. */
function Menu({ part, faults }: { part: PartState; faults: readonly string[] }) {
  const { handVerbs } = page.value;
  return (
    <div class="panel menu" data-menu={part.name}>
      <b>{part.name}</b>
      {offeredVerbs(part, faults.length > 0).map((verb) => (
        <button
          type="button"
          key={verb}
          class={mending.includes(verb) ? 'next' : 'fault'}
          data-verb={verb}
          disabled={isBusy.value}
          onClick={() => void askForFault(verb === 'mend' ? 'start' : verb, part.name)}
        >
          <b>{handVerbs[verb][0]}</b> <small>{handVerbs[verb][1]}</small>
        </button>
      ))}
      {answer.value && <p role="status">{answer.value}</p>}
    </div>
  );
}

/** @returns whether it was done; otherwise `problem` says why not */
export async function askForFault(verb: HandVerb, server = ''): Promise<boolean> {
  const said = await send<{ done: string }>('POST', '/api/faults', { verb, server });
  answer.value = said?.done ?? '';
  return said !== null;
}

/** The arrow keys walk the picture. */
function walk(event: KeyboardEvent, tiers: readonly (readonly PartState[])[]): void {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[
    event.key
  ];
  const at = tiers.findIndex((each) => each.some(({ name }) => name === selected.value));
  const place = tiers[at]?.findIndex(({ name }) => name === selected.value) ?? 0;
  const tier = tiers[at + (step?.[0] ?? 0)];
  const next = tier?.[Math.min(tier.length - 1, Math.max(0, place + (step?.[1] ?? 0)))];
  if (!step || !next || !(event.currentTarget instanceof Element)) return;
  event.preventDefault();
  selected.value = next.name;
  event.currentTarget.querySelector<HTMLElement>(`[data-part="${next.name}"]`)?.focus();
}
