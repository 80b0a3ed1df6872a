import { copyable, linkTo, time } from './dom.js';

/** Who did what, as it happens. */
export const audit = {
  title: 'Audit',
  path: '/api/audit',
  idOf: ({ id }) => id,
  filters: {
    action: ['Action, exactly', 'user.change'],
    record: ['Record', 'an id'],
    actor: ['Key or subject', 'an id'],
    createdSince: ['Since, UTC', Date],
    createdBefore: ['Before, UTC', Date],
  },
  columns: {
    Time: ({ createdAt }) => time(createdAt),
    Action: ({ action }) => action,
    Record: linkToRecord,
    Changed: ({ changed, details }) =>
      details?.to ? `${details.from ?? 'none'} → ${details.to}` : changed.join(', '),
    By: ({ actorKind, actorId, actorName, details }) => [
      actorKind === 'key' ? linkTo('keys', actorId, actorName) : `${actorName} (${actorKind})`,
      details?.person && [' for ', linkTo('users', details.person)],
    ],
    Through: ({ transport, address }) => [transport, address].filter(Boolean).join(', '),
    Request: ({ requestId }) => copyable(requestId, 'request id'),
  },
};

const views = { event: 'events', user: 'users', identity: 'users', key: 'keys', subscription: 'customers' };

/** The id of the record, as a link that opens it if there is a view for it. */
function linkToRecord({ action, recordId }) {
  const view = views[action.split('.')[0]];
  return view ? linkTo(view, recordId) : recordId;
}
