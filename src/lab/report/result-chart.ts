/**
 * The script of a result's page: three uPlot charts, one below the other on one time axis. It runs
 * in the browser, reads the series from the page, and draws them again for a new size or theme.
 */
export const chartScript = `
const series = JSON.parse(document.getElementById('series').textContent);
const rows = [...new Set(series.bars.map((bar) => bar.row))];
const colour = (name) => getComputedStyle(document.body).getPropertyValue('--' + name).trim();
const font = '16px system-ui, sans-serif';
const boldFont = 'bold ' + font;
const pen = document.createElement('canvas').getContext('2d');
pen.font = font;
const widthOf = (text) => pen.measureText(text).width + 24;
const labelWidth = () => Math.min(innerWidth * 0.35, Math.max(110, ...rows.map(widthOf)));
/** The end of a long name is cut off, and not its beginning. */
function fitted(row) {
  let end = row.length;
  while (end > 1 && widthOf(row.slice(0, end) + '…') > labelWidth()) end--;
  return widthOf(row) > labelWidth() ? row.slice(0, end) + '…' : row;
}
const none = (value) => value ?? 0;
const onlyLoaded = (column, value) => column.map((each, at) => each === null ? null : value(at));

function axes(y, xLabel) {
  const own = { stroke: colour('text'), font, labelFont: boldFont, labelSize: 26,
    grid: { stroke: colour('grid'), width: 1 }, ticks: { stroke: colour('grid'), width: 1 } };
  return [
    { ...own, size: 34, ...(xLabel ? { label: xLabel } : {}) },
    { ...own, size: labelWidth() - (y.label ? 26 : 0), ...y },
  ];
}

const common = (id, height) => ({
  width: document.getElementById(id).clientWidth, height, padding: [10, 20, 0, 0],
  cursor: { sync: { key: 'drill' }, drag: { x: false, y: false }, points: { show: false } },
});
const time = { time: false, range: [0, Math.max(1, series.endSecond)] };

/** Stacked: the bars of a later series cover the lower part of those before it. */
function answers() {
  const { accepted, refused, unknown } = series;
  const all = onlyLoaded(accepted, (at) => none(accepted[at]) + none(refused[at]) + none(unknown[at]));
  const told = onlyLoaded(accepted, (at) => none(accepted[at]) + none(refused[at]));
  const bars = (label, column, name) => ({
    label, fill: colour(name), stroke: colour(name), width: 0, points: { show: false },
    paths: uPlot.paths.bars({ align: 1, size: [0.94, Infinity] }),
    value: (u, v, s, at) => at === null ? '–' : String(column[at] ?? '–'),
  });
  const options = { ...common('answers', 300), scales: { x: time, y: { range: (u, min, max) => [0, Math.max(1, max * 1.08)] } },
    axes: axes({ label: 'answers per second' }),
    series: [{ label: 'second', value: (u, v) => v === null ? '–' : v + ' s' },
      bars('unknown', unknown, 'unknown'), bars('refused', refused, 'refused'), bars('accepted', accepted, 'accepted')] };
  return new uPlot(options, [series.seconds, all, told, accepted], document.getElementById('answers'));
}

function latency() {
  const short = (ms) => ms >= 1000 ? ms / 1000 + ' s' : ms + ' ms';
  const options = { ...common('latency', 240),
    scales: { x: time, y: { distr: 3, range: (u, min, max) => [Math.min(1, none(min) || 1), Math.max(1000, max * 1.5)] } },
    axes: axes({ label: 'p99 answer time', splits: () => [1, 10, 100, 1000, 10000], values: (u, values) => values.map(short) },
      'seconds since the load began'),
    series: [{ label: 'second', value: (u, v) => v === null ? '–' : v + ' s' },
      { label: 'p99', stroke: colour('p99'), width: 3, points: { show: true, size: 7, fill: colour('p99') },
        paths: uPlot.paths.stepped({ align: 1, extend: true }),
        value: (u, v) => v === null ? '–' : short(v) }] };
  return new uPlot(options, [series.seconds, series.p99Ms], document.getElementById('latency'));
}

function drawBar(u, { row, state, text, fromSecond, toSecond }) {
  const ratio = devicePixelRatio;
  const { ctx } = u;
  const x = u.valToPos(fromSecond, 'x', true);
  const width = Math.max(4 * ratio, u.valToPos(toSecond, 'x', true) - x);
  const middle = u.valToPos(rows.length - rows.indexOf(row) - 0.5, 'y', true);
  const height = 24 * ratio;
  ctx.fillStyle = colour(state);
  ctx.fillRect(x, middle - height / 2, width, height);
  ctx.font = 'bold ' + 14 * ratio + 'px system-ui, sans-serif';
  ctx.fillStyle = colour('on-' + state);
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  if (ctx.measureText(text).width + 8 * ratio < width) ctx.fillText(text, x + 4 * ratio, middle + ratio);
}

/** A thin line is a server that runs. */
function states() {
  const up = (u) => rows.filter((row) => row !== 'load').forEach((row) => {
    const y = u.valToPos(rows.length - rows.indexOf(row) - 0.5, 'y', true);
    u.ctx.fillStyle = colour('up');
    u.ctx.fillRect(u.bbox.left, y - 2 * devicePixelRatio, u.bbox.width, 4 * devicePixelRatio);
  });
  const draw = (u) => {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    up(u);
    series.bars.forEach((bar) => drawBar(u, bar));
    u.ctx.restore();
  };
  const middles = rows.map((row, at) => rows.length - at - 0.5);
  const options = { ...common('states', rows.length * 34 + 48), legend: { show: false },
    scales: { x: time, y: { range: [0, Math.max(1, rows.length)] } },
    axes: axes({ splits: () => middles, values: () => rows.map(fitted), grid: { show: false }, ticks: { show: false } }),
    series: [{}, { points: { show: false }, paths: () => null }], hooks: { draw: [draw] } };
  return new uPlot(options, [series.seconds, series.seconds.map(() => null)], document.getElementById('states'));
}

let charts = [];
function draw() {
  for (const chart of charts) chart.destroy();
  charts = [states(), answers(), latency()];
}
draw();
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
`;
