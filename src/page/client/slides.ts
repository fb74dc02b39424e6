/** The slides of the workshop, in a file of their own: the keys, the predictions, the notes. */
const slides = [...document.querySelectorAll<HTMLElement>('section')];
const numberIn = (hash: string): number => Number(/^#(\d+)$/.exec(hash)?.[1] ?? 1);

function show(number: number): void {
  const shown = Math.min(slides.length, Math.max(1, number));
  for (const [index, slide] of slides.entries()) slide.hidden = index + 1 !== shown;
  if (numberIn(location.hash) !== shown) history.replaceState(null, '', `#${shown}`);
  scrollTo(0, 0);
}

const moves: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  PageDown: 1,
  ' ': 1,
  ArrowLeft: -1,
  PageUp: -1,
  Home: -Infinity,
  End: Infinity,
};

function press(event: KeyboardEvent): void {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 'n' || event.key === 'N') document.body.classList.toggle('with-notes');
  const move = moves[event.key];
  const isButton = event.target instanceof HTMLButtonElement && event.key === ' ';
  if (move === undefined || isButton) return;
  event.preventDefault();
  show(numberIn(location.hash) + move);
}

/** The answer is marked on a later slide, where the step is explained. */
function predict(button: HTMLElement): void {
  const { step, letter } = button.dataset;
  const all = document.querySelectorAll<HTMLElement>(`[data-step="${step}"]`);
  for (const each of all)
    each.setAttribute('aria-pressed', String(each.dataset['letter'] === letter));
  const right = document.querySelector<HTMLElement>(`[data-answer="${step}"]`);
  if (right) right.textContent = letter === right.dataset['right'] ? '✓' : `${letter} ✗`;
}

/** In the page: the key of the address opens its links, too. */
async function useKey(): Promise<void> {
  const [, key] = /^#key=([\w.-]+)$/.exec(location.hash) ?? [];
  if (key === undefined) return;
  history.replaceState(null, '', '#1');
  const headers = { 'content-type': 'application/json' };
  await fetch('/session', { method: 'POST', headers, body: JSON.stringify({ key }) });
}

document.addEventListener('keydown', press);
document.addEventListener('click', ({ target }) => {
  if (!(target instanceof HTMLElement)) return;
  const button = target.closest<HTMLElement>('button[data-letter]');
  if (button) predict(button);
  const sameInOther = target.closest<HTMLAnchorElement>('a[href^="/workshop"]');
  if (sameInOther) sameInOther.hash = location.hash; // The same slide, in the other language.
  const step = target.closest<HTMLElement>('button[data-move]');
  if (step) show(numberIn(location.hash) + Number(step.dataset['move']));
});
addEventListener('hashchange', () => show(numberIn(location.hash)));
show(numberIn(location.hash));
await useKey();
