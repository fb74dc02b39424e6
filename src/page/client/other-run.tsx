/** Another run has the lab: nothing begins before it ends. */
import { liveWorld } from './event-log.ts';
import type { RunAddress } from './route.tsx';
import { isRunning, runName, stopRun } from './store.ts';
import { page } from './texts.ts';

export function OtherRun({ wanted }: { wanted: RunAddress }) {
  const { experiment } = liveWorld.value.run ?? {};
  if (!isRunning.value || experiment === undefined || experiment === runName(wanted)) return null;
  return (
    <p class="wrong-text" role="status" data-other-run>
      {page.value.otherRun(experiment)}{' '}
      <button type="button" onClick={() => void stopRun()}>
        {page.value.words.stopIt}
      </button>
    </p>
  );
}
