import { field, h, input, time, valuesOf } from './dom.js';
import { linkTo } from './event.js';
import { followLog } from './log.js';
import { goTo } from './place.js';

const columns = {
  Time: ({ createdAt }) => time(createdAt),
  Action: ({ action }) => action,
  Record: ({ action, recordId }) => (action.startsWith('event.') ? linkTo(recordId, recordId) : recordId),
  Changed: ({ changed, details }) =>
    details ? `${details.from ?? 'none'} → ${details.to}` : changed.join(', '),
  By: ({ actorKind, actorName }) => `${actorName} (${actorKind})`,
  Through: ({ door, address }) => [door, address].filter(Boolean).join(', '),
};

/** Who did what, as it happens. */
export function showAudit(view, query, signal) {
  const onsubmit = event => {
    event.preventDefault();
    goTo('audit', valuesOf(event.target));
  };
  view.append(
    h('h2', {}, 'Audit log'),
    h(
      'form',
      { class: 'filters', onsubmit },
      field('Action', input('action', query.action, { placeholder: 'user.change' })),
      field('Record', input('record', query.record, { placeholder: 'an id' })),
      field('Key or subject', input('actor', query.actor, { placeholder: 'an id' })),
      h('button', { class: 'primary', type: 'submit' }, 'Show'),
    ),
    followLog({ path: '/api/audit', query, columns, caption: 'Entries, the newest first', signal }),
  );
}
