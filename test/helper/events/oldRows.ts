const id = '01800000-0000-7000-8000-000000000000';

/** Statements that insert one row of each kind that is trimmed. */
export const oldRows = [
  `insert into webhook_events (id, provider, preset, fingerprint, status, body, created_at, updated_at)
    values ('${id}', 'stripe', 'stripe', sha256('x'), 'ignored', '{}', '2022-04-01', '2022-04-01')`,
  `insert into idempotency_keys (hash, fingerprint, created_at) values ('x', 'x', '2022-04-01')`,
  `insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, transport)
    values ('${id}', '2022-04-01', 'user.create', 'x', '{}', 'anyone', '', 'rest')`,
];
