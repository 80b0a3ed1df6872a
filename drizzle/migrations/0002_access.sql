-- API keys and the audit log. Both tables are new, so nothing below waits for anybody.

create table "api_keys" (
	"id" uuid primary key not null, -- UUIDv7; the public part of the key
	"name" text collate "C" not null,
	"scopes" text[] not null,
	"created_at" timestamp (3) with time zone not null,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone, -- written at most once a minute, in batches
	"revoked_at" timestamp (3) with time zone,
	-- The secret has 256 random bits: a fast hash is enough, because there is nothing to guess.
	"secret_hash" text collate "C" not null,
	constraint "api_keys_name_length" check (char_length("api_keys"."name") between 1 and 200),
	constraint "api_keys_secret_hash_shape" check ("api_keys"."secret_hash" ~ '^[0-9a-f]{64}$'),
	constraint "api_keys_scopes_known" check (cardinality("api_keys"."scopes") > 0 and "api_keys"."scopes" <@ array['read', 'write', 'admin'])
);
--> statement-breakpoint
-- Who changed what. Values are left out: they are what people wrote, and the log outlives them.
create table "audit_log" (
	"id" uuid primary key not null,
	"created_at" timestamp (3) with time zone not null,
	"action" text collate "C" not null,
	"record_id" text collate "C" not null, -- no foreign key: the entry stays when the record goes
	"changed" text[] not null,
	"actor_kind" text collate "C" not null,
	"actor_id" text collate "C",
	"actor_name" text collate "C" not null, -- as it was then
	"door" text collate "C" not null,
	"address" text collate "C",
	"request_id" text collate "C"
);
--> statement-breakpoint
create index "api_keys_name_index" on "api_keys" using btree ("name","id");
--> statement-breakpoint
-- "What happened to this record?"
create index "audit_log_record_index" on "audit_log" using btree ("record_id","id");
--> statement-breakpoint
-- "What did this key do?" An open service has no actor ids, and then this index costs nothing.
create index "audit_log_actor_index" on "audit_log" using btree ("actor_id","id") where "audit_log"."actor_id" is not null;
--> statement-breakpoint
-- For periods and for trimming: rows lie on disk in the order of time, so a few kilobytes are index enough.
create index "audit_log_time_index" on "audit_log" using brin ("created_at");
--> statement-breakpoint
-- Append-only, also for an application that has gone astray. What is older than a day may be trimmed.
create function "keep_audit_log"() returns trigger language plpgsql as $$
begin
	if tg_op = 'DELETE' and old."created_at" < now() - interval '1 day' then
		return old;
	end if;
	raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end
$$;
--> statement-breakpoint
create trigger "audit_log_keeps_rows" before update or delete on "audit_log" for each row execute function "keep_audit_log"();
--> statement-breakpoint
create trigger "audit_log_keeps_all" before truncate on "audit_log" for each statement execute function "keep_audit_log"();
