import { html, svg } from './dom.js';

const [width, height] = [600, 120];
const round = number => Math.round(number * 10) / 10;

/** The least of 1, 2, 4, 5, 6, 8 × 10ⁿ that is not below a value. */
function roundUp(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return round(([1, 2, 4, 5, 6, 8].find(each => each * power >= value) ?? 10) * power * 1000) / 1000;
}

/**
 * A plot: bars that lie on each other, the worst at the bottom, or curves. Each of the series has a name, a colour, its
 * total, and a value for each of the times; null is a gap.
 */
export function plot({ title, whose, strong, note = '', series, times, isCurves = false, unit = '' }) {
  const sums = times.map((_, i) => {
    const all = series.map(({ values }) => values[i] ?? 0);
    return isCurves ? Math.max(...all) : all.reduce((sum, value) => sum + value, 0);
  });
  const most = roundUp(Math.max(...sums));
  const step = width / times.length;
  const scale = value => height - (value / most) * height;
  const drawn = isCurves ? series.map(each => curve(each, step, scale)) : bars(series, step, scale);
  const clock = time => time.slice(11, 16);
  const hits = times.map((time, i) => {
    const values = series.map(({ name, values }) => `${name}: ${values[i] ?? 'none'}${unit}`);
    return svg(
      'rect',
      { x: i * step, width: step, height },
      svg('title', {}, [`${clock(time)} UTC`, ...values].join('\n')),
    );
  });
  const ticks = [0, 1, 2, 3].map(i => html`<span>${clock(times[(i * times.length) / 4])}</span>`);
  const marks = [most, most / 2, 0].map(value => html`<span>${value.toLocaleString('en')}${unit}</span>`);
  const legend = series.map(
    ({ name, css, total }) =>
      html`<li><svg class="${css}" viewBox="0 0 8 8" aria-hidden="true"><rect width="8" height="8" /></svg>${name} <b>${total}</b></li>`,
  );
  const totals = series.map(({ name, total }) => `${name} ${total}`).join(', ');
  return html`<figure class="plot"><figcaption><h2>${title}</h2><span class="whose">${whose}</span><b>${strong} <small>${note}</small></b></figcaption>
    <div class="draw"><div class="y" aria-hidden="true">${marks}</div>
      <svg viewBox="0 0 600 120" preserveAspectRatio="none" role="img" aria-label="${title}: ${totals}"><path class="grid" d="M0 0H600M0 60H600M0 120H600"></path>${drawn}<g class="hits">${hits}</g></svg>
      <div class="x" aria-hidden="true">${ticks}<span>now</span></div></div>
    <ul class="legend">${legend}</ul></figure>`;
}

/** One path for each of the series; a value above 0 can always be seen. */
function bars(series, step, scale) {
  const tops = [];
  return series.map(({ css, values }) => {
    const d = values.map((value, i) => {
      if (!value) return '';
      const bottom = tops[i] ?? height;
      tops[i] = bottom - Math.max(2.5, height - scale(value));
      const [left, right] = [round((i + 0.1) * step), round((i + 0.9) * step)];
      return `M${left} ${round(bottom)}H${right}V${round(tops[i])}H${left}z`;
    });
    return svg('path', { class: css, d: d.join('') });
  });
}

function curve({ css, values }, step, scale) {
  // A line of no length is a dot, for a value that stands alone.
  const point = (value, i) => {
    const at = `${round((i + 0.5) * step)} ${round(scale(value))}`;
    return (values[i - 1] ?? null) === null ? `M${at}h0` : `L${at}`;
  };
  const d = values.map((value, i) => (value === null ? '' : point(value, i)));
  return svg('path', { class: `curve ${css}`, d: d.join('') });
}
