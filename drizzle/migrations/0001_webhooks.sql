-- Subscriptions, and the inbox of webhook events. Both tables are new, so nothing below waits for a lock.

create table "subscriptions" (
	"id" uuid primary key not null,
	"customer" text collate "C" not null,
	"provider" text collate "C" not null,
	"status" text collate "C" not null,
	"activated_at" timestamp (3) with time zone, -- the first activation; never changes
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	-- The unique index below cannot hold longer values. An event with a longer customer is stored, but ignored.
	constraint "subscriptions_customer_length" check (char_length("subscriptions"."customer") between 1 and 255)
);
--> statement-breakpoint
create table "webhook_events" (
	"id" uuid primary key not null, -- UUIDv7, made on receipt: trimming deletes from the low end of this index
	"provider" text collate "C" not null,
	"fingerprint" "bytea" not null, -- SHA-256 of the provider's id, or of the body without one: ids have no length limit, indexes do
	"event_id" text collate "C", -- for display: truncated, and without characters that text cannot hold
	"type" text collate "C",
	"customer" text collate "C",
	"status" text collate "C" not null,
	"attempts" integer default 0 not null,
	"replays" integer default 0 not null, -- a job from before the last replay has a lower number and does nothing
	"last_error" text collate "C",
	"failures" jsonb default '[]'::jsonb not null,
	"body" "bytea" not null, -- the signed bytes; jsonb would refuse \u0000 and reorder members
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	"processed_at" timestamp (3) with time zone,
	constraint "webhook_events_status_known" check ("webhook_events"."status" in ('received', 'processing', 'processed', 'ignored', 'failed', 'dead'))
);
--> statement-breakpoint
-- A customer of a provider has one subscription, however many events arrive at once.
create unique index "subscriptions_customer_provider_key" on "subscriptions" using btree ("customer","provider");
--> statement-breakpoint
create index "subscriptions_status_index" on "subscriptions" using btree ("status","id");
--> statement-breakpoint
-- A provider may send an event again at any time; this index prevents a second copy.
create unique index "webhook_events_fingerprint_key" on "webhook_events" using btree ("provider","fingerprint");
--> statement-breakpoint
-- The filters for operators. None for the provider, because nearly all rows have the same one.
create index "webhook_events_status_index" on "webhook_events" using btree ("status","id");
--> statement-breakpoint
create index "webhook_events_type_index" on "webhook_events" using btree ("type","id");
--> statement-breakpoint
create index "webhook_events_customer_index" on "webhook_events" using btree ("customer","id");
