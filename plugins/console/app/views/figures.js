import { plot } from './plots.js';

const total = numbers => numbers.reduce((sum, number) => sum + number, 0);
const text = number => number.toLocaleString('en', { maximumFractionDigits: 2 });
const refusedIn = ({ requests: { refused, denied, limited } }) => refused + denied + limited;

/**
 * The plots of the overview. Each series has its colour and what it reads of a sample, the worst first; `note` says what
 * the one number of a plot means.
 */
/** @type {any[]} */
const figures = [
  {
    title: 'Requests',
    series: {
      '5xx': ['bad', ({ requests }) => requests.failed],
      '4xx': ['warn', refusedIn],
      '2xx, 3xx': ['calm', ({ requests }) => requests.succeeded],
    },
    note: (sum, { samples }) => `${text(Math.round((10 * sum) / samples.length) / 10)} a minute`,
  },
  {
    title: 'Refused',
    series: {
      '5xx': ['bad', ({ requests }) => requests.failed],
      'too many (429)': ['warn', ({ requests }) => requests.limited],
      '401, 403': ['quiet', ({ requests }) => requests.denied],
      'other 4xx': ['calm', ({ requests }) => requests.refused],
    },
    note(sum, { samples }) {
      const all = sum + total(samples.map(({ requests }) => requests.succeeded));
      return all > 0 && `${text((100 * sum) / all)} of 100 requests`;
    },
  },
  {
    title: 'Events, by outcome',
    series: {
      dead: ['bad', ({ processing }) => processing?.dead],
      failed: ['warn', ({ processing }) => processing?.failed],
      processed: ['good', ({ processing }) => processing?.processed],
    },
    note: (_sum, { events }) => `${text(events.received + events.failed)} wait, in all instances`,
  },
  {
    title: 'Time until an event is processed',
    isMeasured: true,
    unit: ' s',
    series: {
      'half within': ['calm', ({ processing }) => processing?.halfWithin],
      '95 of 100 within': ['quiet', ({ processing }) => processing?.mostWithin],
    },
    note: () => 'for half of them, lately',
  },
  {
    title: 'Changes of records',
    isOfAll: true,
    series: {
      deleted: ['quiet', ({ changes }) => changes?.delete],
      created: ['deep', ({ changes }) => changes?.create],
      changed: ['calm', ({ changes }) => changes?.change],
    },
    note: () => '',
  },
  {
    title: 'Connections',
    isMeasured: true,
    series: {
      streams: ['calm', ({ connections }) => connections.streams],
      reading: ['quiet', ({ connections }) => connections.reading],
      writing: ['deep', ({ connections }) => connections.writing],
    },
    note: (_last, { database }) => `streams; the database takes ${text(database.roundTripMs)} ms`,
  },
];

/** Puts samples of a minute into buckets of `size` minutes, the last of which is running. */
function bucketsOf(samples, number, size) {
  const span = size * 60_000;
  const indexOf = at => Math.floor(Date.parse(at) / span);
  const first = indexOf(samples.at(-1).at) - number + 1;
  const buckets = Array.from({ length: number }, (_, i) => ({
    at: new Date((first + i) * span).toISOString(),
    samples: [],
  }));
  for (const sample of samples) buckets[indexOf(sample.at) - first]?.samples.push(sample);
  return buckets;
}

/** Draws what the overview says of so many buckets of `size` minutes. What is counted is added up in a bucket. */
export function plotsOf(overview, number, size) {
  const buckets = bucketsOf(overview.samples, number, size);
  const shown = { ...overview, samples: buckets.flatMap(({ samples }) => samples) };
  return figures.map(({ title, series, isMeasured = false, isOfAll, unit = '', note }) => {
    const drawn = Object.entries(series).map(([name, [colour, read]]) => {
      const values = buckets.map(({ samples }) => {
        const known = samples.map(read).filter(value => value !== null && value !== undefined);
        return known.length === 0 ? null : isMeasured ? Math.max(...known) : total(known);
      });
      const number = isMeasured ? values.findLast(value => value !== null) : total(values);
      return {
        name,
        css: `fill-${colour}`,
        values,
        number,
        total: number === undefined ? 'none' : `${text(number)}${unit}`,
      };
    });
    const number = isMeasured ? drawn[0].number : total(drawn.map(each => each.number));
    return plot({
      title,
      whose: isOfAll ? 'all instances' : overview.instance,
      strong: isMeasured ? drawn[0].total : text(number),
      note: note(number, shown),
      series: drawn,
      times: buckets.map(({ at }) => at),
      isCurves: isMeasured,
      unit,
    });
  });
}
