import { aged, copyable, html, link } from './dom.js';
import { listAt, listNamed } from './service.js';

/** Who did what, as it happens. */
export const audit = {
  columns: {
    Action: ({ action }) => html`<b>${action}</b>`,
    Record: ({ action, recordId }) => linkToRecord(action, recordId),
    Changed: ({ changed, details }) =>
      details?.to ? `${details.from ?? 'none'} → ${details.to}` : changed.join(', '),
    By: ({ actorKind, actorId, actorName, details }) => [
      actorKind === 'key' ? link(actorName, 'keys', actorId) : actorName,
      details?.person && [' for ', linkToRecord('user', details.person)],
    ],
    Through: ({ transport, address }) => [transport, address].filter(Boolean).join(', '),
    Request: ({ requestId }) => copyable(requestId, 'the request id'),
    Time: ({ createdAt }) => aged(createdAt),
  },
};

const paths = { event: 'webhook-events', identity: 'users', key: 'keys' };
/** A link to what an entry is about; the id of a subscription is `<provider>:<customer>`. */
function linkToRecord(action, id) {
  const [name] = action.split('.');
  const list = listNamed(name) ?? listAt(paths[name]);
  return list ? link(id.includes(':') ? id : id.slice(-8), list.path, id) : id;
}
