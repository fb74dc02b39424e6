/** The ends of the lanes: what each can do next, and what can be broken. */
import { actOf } from '../../lab/play/letters.ts';
import { workerLane } from '../../lab/stage/lane-messages.ts';
import { faultsIn } from './faults.ts';
import { ladderRow } from './ladder-rows.ts';
import type { LaneView, PlayView } from './play-model.ts';
import { choose, isReady } from './store.ts';
import { page } from './texts.ts';

/** At the end of each lane: what it will do next, or why it cannot go. */
export function Ends({ of }: { of: PlayView }) {
  const lanes = [...of.lanes.values()];
  return (
    <div class="thumb">
      <div class={`ends of-${lanes.length}`}>
        {lanes.map((lane) => (
          <End key={lane.name} lane={lane} of={of} />
        ))}
      </div>
      <Faults of={of} />
    </div>
  );
}

function faultText(choice: string, { lanes }: PlayView): string {
  const { does, to } = actOf(choice);
  const { kill, pause, resume, endLease, loseAnswer, stop, start, words } = page.value;
  const { instance = '' } = lanes.get(to) ?? {};
  const [process, server] =
    to === workerLane ? [words.processOfWorker, words.worker] : [instance, to];
  const texts = {
    ...{ kill: kill(process), pause: pause(process), resume: resume(process) },
    ...{ 'end-lease': endLease(to), 'lose-answer': loseAnswer(to), move: '' },
    ...{ stop: stop(server), start: start(server) },
  };
  return texts[does];
}

function Faults({ of }: { of: PlayView }) {
  const faults = faultsIn(of);
  if (faults.length === 0) return null;
  return (
    <div class="row wrap faults">
      <small>{page.value.words.orBreak}</small>
      {faults.map((choice) => (
        <button
          type="button"
          class={/^[RH]/.test(choice) ? '' : 'fault'}
          key={choice}
          data-fault={choice}
          disabled={!isReady.value}
          onClick={() => choose(choice)}
        >
          {faultText(choice, of)}
          <kbd>{choice.split('').join(' ')}</kbd>
        </button>
      ))}
    </div>
  );
}

/** Of a lane that nobody can move. */
function overText({ name, state }: LaneView): string | undefined {
  const { noOrder, stopped } = page.value.words;
  const texts: Readonly<Record<string, string>> = {
    ...{ answered: `✓ ${name}`, dead: `✕ ${name}`, paused: `∥ ${name}` },
    ...{ free: `◌ ${name} ${noOrder}`, stopped: `∥ ${name} ${stopped}` },
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
    <button
      type="button"
      class="next"
      data-lane={name}
      disabled={!isReady.value}
      onClick={() => choose(name)}
    >
      {name} {next(place, row?.hasLock ?? false, row?.sale ?? 'one-user')}
      <kbd>{name}</kbd>
    </button>
  );
}
