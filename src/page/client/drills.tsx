/** The drills: load, faults and an audit. Each is a link. */
import { drillRows } from './drill-rows.ts';
import { Link } from './route.tsx';
import { language, page } from './texts.ts';

export function Drills() {
  const { words } = page.value;
  return (
    <main>
      <h1>{words.drills}</h1>
      <p>{words.drillsAre}</p>
      <table class="rungs drills">
        <tbody>
          {drillRows.map(({ name, about }) => {
            const wanted = { is: 'run', of: 'drill', drill: name, minutes: 0.5, seed: 1 } as const;
            return (
              <tr key={name}>
                <td>
                  <Link to={wanted} data-drill={name}>
                    {name}
                  </Link>
                </td>
                <td>{about[language.value]}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </main>
  );
}
