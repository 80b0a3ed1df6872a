-- API keys, identities of users, the audit log, and idempotency keys. The tables are new, so nothing below waits for a lock.

create table "api_keys" (
	"id" uuid primary key not null, -- UUIDv7; the public part of the key
	"name" text collate "C" not null,
	"scopes" text[] not null,
	"user_id" uuid, -- no foreign key: the revoked key outlives the user
	"created_at" timestamp (3) with time zone not null,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone, -- written at most once a minute
	"revoked_at" timestamp (3) with time zone,
	-- A fast hash is enough: a secret of 256 random bits cannot be guessed.
	"secret_hash" text collate "C" not null,
	constraint "api_keys_name_length" check (char_length("api_keys"."name") between 1 and 200),
	constraint "api_keys_secret_hash_shape" check ("api_keys"."secret_hash" ~ '^[0-9a-f]{64}$'),
	constraint "api_keys_scopes_known" check (cardinality("api_keys"."scopes") > 0 and "api_keys"."scopes" <@ array['read', 'write', 'admin', 'own'])
);
-- The users behind the tokens of an issuer.
create table "identities" (
	"id" uuid primary key not null,
	"issuer" text collate "C" not null,
	"subject" text collate "C" not null,
	"user_id" uuid not null,
	"created_at" timestamp (3) with time zone not null,
	constraint "identities_user_id_fkey" foreign key ("user_id") references "users" ("id") on delete cascade
);
create unique index "identities_issuer_subject_key" on "identities" using btree ("issuer","subject");
create index "identities_user_index" on "identities" using btree ("user_id","id");
create sequence "audit_log_ordinal" cache 1; -- a session that keeps some would give them away out of order
-- Who changed what. Values are left out: they are personal data, and the log outlives the records.
create table "audit_log" (
	"id" uuid primary key not null,
	"created_at" timestamp (3) with time zone not null,
	"action" text collate "C" not null,
	"record_id" text collate "C" not null, -- no foreign key: the entry outlives the record
	"changed" text[] not null,
	"actor_kind" text collate "C" not null,
	"actor_id" text collate "C",
	"actor_name" text collate "C" not null, -- the name at that time
	"transport" text collate "C" not null,
	"address" text collate "C",
	"request_id" text collate "C",
	"details" jsonb, -- the event that changed a subscription, or the person who wrote
	-- Clients follow changes by these columns. The first two are null where there is nothing to follow.
	"version" integer, -- the version that the write made
	"sides" jsonb, -- the owner of the record and what its changes are followed by, before and after
	"effect" text collate "C", -- the name of the change, if it has an effect
	-- Taken under the lock of the record. The transaction takes its id before, which `number_changes` relies on.
	"ordinal" bigint default case when pg_current_xact_id() is not null then nextval('audit_log_ordinal') end not null
);
create index "audit_log_ordinal_index" on "audit_log" using btree ("ordinal");
-- Requests with an Idempotency-Key, and their answers.
create table "idempotency_keys" (
	"hash" text collate "C" primary key not null, -- a hash of the caller and the key
	"fingerprint" text collate "C" not null, -- identifies the request: another one with the same key is refused
	"created_at" timestamp (3) with time zone not null,
	"status" integer default 0 not null, -- 0 until there is an answer
	"location" text collate "C",
	"body" text collate "C" default '' not null
);
-- Trimming deletes the oldest keys.
create index "idempotency_keys_created_at_index" on "idempotency_keys" using btree ("created_at");
create index "api_keys_name_index" on "api_keys" using btree ("name","id");
create index "api_keys_user_index" on "api_keys" using btree ("user_id") where "api_keys"."user_id" is not null;
-- Filters by time compare the id, which starts with the time, so each index and the primary key serve them in order.
-- A filter by action would read the whole log without this index.
create index "audit_log_action_index" on "audit_log" using btree ("action","id");
-- "What happened to this record?"
create index "audit_log_record_index" on "audit_log" using btree ("record_id","id");
-- "What did this key do?" On an open service there are no actor ids, so this index costs nothing.
create index "audit_log_actor_index" on "audit_log" using btree ("actor_id","id") where "audit_log"."actor_id" is not null;
-- Keeps the log append-only, even for a faulty application. Entries older than a day may be trimmed.
create function "keep_audit_log"() returns trigger language plpgsql as $$
begin
	if tg_op = 'DELETE' and old."created_at" < now() - interval '1 day' then
		return old;
	end if;
	raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger "audit_log_keeps_rows" before update or delete on "audit_log" for each row execute function "keep_audit_log"();
create trigger "audit_log_keeps_all" before truncate on "audit_log" for each statement execute function "keep_audit_log"();
-- An entry of a change with an effect puts that into the inbox and the queue, in the transaction of the change.
create function "keep_effect"() returns trigger language plpgsql as $$
declare
	-- As src/webhooks/envelope.ts makes it of the id of an event: of its UTF-16, whose second bytes are 0 here.
	"print" bytea := sha256(E'id\n'::bytea || decode(regexp_replace(encode(new."id"::text::bytea, 'hex'), '(..)', '\100', 'g'), 'hex'));
	"change" json := json_build_object(
		'resource', split_part(new."effect", '.', 1), 'id', new."record_id", 'action', split_part(new."effect", '.', 2),
		'version', new."version", 'changed', new."changed",
		'at', to_char(new."created_at" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
begin
	insert into "webhook_events" ("id", "provider", "preset", "fingerprint", "event_id", "type", "customer", "status", "body",
			"occurred_at", "created_at", "updated_at")
		values (new."id", 'effects', 'effects', "print", new."id", new."effect",
			substring(new."record_id" from ':(.*)'), -- only the id of a subscription names a customer, after its provider
			'received', convert_to("change"::text, 'UTF8'), new."created_at", new."created_at", new."created_at");
	insert into "webhook_queue" ("fingerprint", "provider", "effect", "record", "version")
		values ("print", 'effects', new."effect", new."record_id", new."version");
	return null;
end
$$;
create trigger "audit_log_keeps_effects" after insert on "audit_log" for each row when (new."effect" is not null)
	execute function "keep_effect"();
