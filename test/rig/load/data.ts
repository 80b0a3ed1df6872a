/** The id of the burrow with this number, as the service makes ids. */
export const burrowId = (number: number) =>
  `01980000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;

/**
 * Burrows 1 to 1,000 have 20 specimens each. Then come `popular` with 1,000 long labels, `wide` with labels of three
 * bytes a character, and a hundred burrows that share `most` specimens.
 */
export const plain = 1000;
export const [popular, wide] = [burrowId(plain + 1), burrowId(plain + 2)];
const [most, changes] = [300_000, 200_000];

const uuid = (kind: number, number: string) =>
  `('01980000-000${kind}-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`;
/** An id of now. */
const uuidNow = `(regexp_replace(lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0'), '(.{8})(.{4})', '\\1-\\2')
  || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;

/** Inserts the rows without the triggers that count, which would take minutes. */
export const rows = `
  set session_replication_role = replica;
  insert into users (id, name, email, created_at, updated_at)
    select ${uuid(2, 'n')}, 'User ' || n, 'user' || n || '@example.com', now(), now() from generate_series(1, ${plain}) as n;
  insert into burrows (id, label, created_at, updated_at)
    select ${uuid(0, 'n')}, 'Burrow ' || n, now(), now() from generate_series(1, ${plain + 102}) as n;
  insert into specimens (id, label, grade, burrow_id, created_at, updated_at)
    select ${uuid(1, 'n')}, label, case when n % 5 = 0 then 'rough' else 'fine' end, ${uuid(0, 'burrow')}, now(), now() from (
      select n, 1 + (n - 1) % ${plain} as burrow, 'Specimen number ' || n as label from generate_series(1, ${plain * 20}) as n
      union all select n, ${plain + 1}, rpad('Popular ' || n || ' ', 500, 'x') from generate_series(20001, 21000) as n
      union all select n, ${plain + 2}, rpad('Wide ' || n || ' ', 500, '€') from generate_series(21001, 21020) as n
      union all select n, ${plain + 3} + n % 100, 'Mass ' || n from generate_series(30001, ${30_000 + most}) as n) as made;
  set session_replication_role = origin;
  insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, transport, version, sides)
    select ${uuidNow}, now(), 'specimen.change', ${uuid(1, '20001 + n % 1000')}, '{label}', 'system', 'load', 'command', 1,
      '[{"burrowId": "${popular}", "grade": "fine"}]' from generate_series(1, ${changes}) as n;
  select list_repair(name) from list_tables;
  analyze;`;
