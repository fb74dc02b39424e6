/** Where a viewer finds nothing: what happened, and where to go. */
import { roomText } from './room-texts.ts';
import { Link } from './route.tsx';

interface SignpostProps {
  readonly title: string;
  readonly children: string;
}

const Signpost = ({ title, children }: SignpostProps) => (
  <main>
    <h1>{title}</h1>
    <p>{children}</p>
    <p>
      <Link to={{ is: 'ladder', chapter: 2 }} data-to-ladder>
        {roomText.value.toLadder}
      </Link>
    </p>
  </main>
);

export function NoPage({ path }: { path: string }) {
  const { noPage, noPageIs } = roomText.value;
  return <Signpost title={noPage}>{noPageIs(path)}</Signpost>;
}

export function InstructorsPage() {
  const { instructors, instructorsIs } = roomText.value;
  return <Signpost title={instructors}>{instructorsIs}</Signpost>;
}

/** Until the room is opened again: then the page asks for its code. */
export function Closed() {
  const { closed, closedIs } = roomText.value;
  return (
    <main data-closed>
      <h1>{closed}</h1>
      <p>{closedIs}</p>
    </main>
  );
}
