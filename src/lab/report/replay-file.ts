/** The text of a file that shows recorded events. The page and the terminal write the same one. */
import type { Language } from '../../texts/texts.ts';
import type { StageEvent } from '../stage/events.ts';

export interface ReplayParts {
  readonly script: string;
  readonly style: string;
  readonly events: readonly StageEvent[];
  /** Without one, that of the browser. */
  readonly language?: Language | undefined;
}

export const recordedId = 'recorded';

/** No text ends the element that it is in. */
const inScript = (script: string): string =>
  script.replaceAll('</', '<\\/').replaceAll('<!--', '<\\!--');
const asJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

/** It may load and send nothing. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

export const replayFile = ({
  script,
  style,
  events,
  language,
}: ReplayParts): string => `<!doctype html>
<html lang="en"${language ? ` data-language="${language}"` : ''}>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Lockstep: a replay</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<body>
<div id="page"></div>
<script type="application/json" id="${recordedId}">${asJson(events)}</script>
<script type="module">${inScript(script)}</script>
`;
