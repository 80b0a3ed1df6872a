import { call, poll } from './api.js';
import { addressOf, aged, count, fill, go, html, icon, isSoon } from './dom.js';
import { plotsOf } from './figures.js';

/** What needs somebody, and what the service did in the last hour or day. */
export async function showOverview(element, query, signal) {
  const { period } = query;
  const option = (text, value) => html`<label><input type="radio" name="period" class="unseen"
    ?checked=${period === value} @change=${() => go('overview', undefined, value && { period: value })}>${text}</label>`;
  const said = html`<p class="said" role="status"></p>`;
  const needs = html`<ul class="needs" aria-label="What needs you"></ul>`;
  const plots = html`<div class="plots"></div>`;
  const foot = html`<p class="small faint"></p>`;
  element.append(html`<header><h1>Overview</h1><span class="grow"></span>
    <fieldset class="seg"><legend class="unseen">Period</legend>${option('Last hour')}${option('Last day', 'day')}</fieldset></header>
    ${said}${needs}${plots}${foot}`);
  async function read() {
    const overview = await call('GET', '/api/overview', { signal });
    fill(needs, needsIn(overview));
    // A plot under the pointer stays, with the figures that it shows.
    if (!plots.matches(':hover'))
      fill(plots, period === 'day' ? plotsOf(overview, 96, 15) : plotsOf(overview, 60, 1));
    const apart =
      overview.worker === 'apart' &&
      'Other processes process the events (WORKER=apart), so it has no times of that.';
    fill(
      foot,
      html`Times in UTC. <b>${overview.instance}</b> answered this page and counts what it did itself since it started, ${aged(overview.startedAt)}. ${apart}
      <b>All instances</b> is what the database knows.`,
    );
  }
  const ready = Promise.withResolvers();
  // A day has half a megabyte.
  poll(() => read().finally(() => ready.resolve(true)), signal, said, 30);
  await isSoon(ready.promise);
}

/** A line about something that somebody should look at, with the way to it. */
const need = (tone, sign, text, more, href = undefined) =>
  html`<li class="${tone}">${icon(sign)}<p class="grow">${href ? html`<a href=${href}>${text}</a>` : html`<b>${text}</b>`} <span class="soft">${more}</span></p></li>`;

function needsIn(overview) {
  const needs = [
    ...eventNeeds(overview.events),
    ...serviceNeeds(overview),
    ...overview.endingKeys.map(keyNeed),
  ];
  if (needs.length > 0) return needs;
  return need('good', 'bool', 'Nothing needs you.', 'No event is dead or late, and the database answers.');
}

function eventNeeds({ dead, failed, oldestWaitingSeconds: waits, oldestDeadAt }) {
  const to = query => addressOf('webhook-events', undefined, query);
  const [areDead, haveFailed] = [
    count(dead, 'event is', 'events are'),
    count(failed, 'event has', 'events have'),
  ];
  const late = `An event waits for ${Math.round(waits)} s.`;
  const more = html`They are not tried again by themselves; the oldest came ${oldestDeadAt && aged(oldestDeadAt)}.`;
  return [
    ...(dead > 0 ? [need('bad', 'bad', `${areDead} dead.`, more, to({ status: 'dead' }))] : []),
    ...(waits > 30
      ? [need('bad', 'time', late, 'Is a worker away?', to({ 'status[in]': 'received,failed' }))]
      : []),
    ...(failed > 0
      ? [need('warn', 'warn', `${haveFailed} failed.`, 'Attempts are left.', to({ status: 'failed' }))]
      : []),
  ];
}

function serviceNeeds({ database: { roundTripMs }, samples }) {
  const refused = samples.slice(-60).reduce((sum, { deliveriesRefused }) => sum + deliveriesRefused, 0);
  const text = `${count(refused, 'delivery was', 'deliveries were')} refused in the last hour.`;
  const slow = `The database answers in ${Math.round(roundTripMs)} ms.`;
  return [
    ...(roundTripMs > 100 ? [need('warn', 'warn', slow, 'Usually it is a few.')] : []),
    ...(refused > 0 ? [need('warn', 'warn', text, 'No secret fits their signature. Was it rotated?')] : []),
  ];
}

function keyNeed({ id, name, expiresAt, lastUsedAt }) {
  const used = lastUsedAt ? ['used ', aged(lastUsedAt)] : 'never used';
  const more = html`It ends ${aged(expiresAt)}, and was ${used}.`;
  return need('warn', 'key', `The key ${name} ends soon.`, more, addressOf('keys', id));
}
