-- Subscriptions, and the inbox of webhook events. Both tables are new, so nothing below waits for a lock.

create table "subscriptions" (
	"id" uuid primary key not null,
	"customer" text collate "C" not null,
	"provider" text collate "C" not null,
	"status" text collate "C" not null,
	"activated_at" timestamp (3) with time zone, -- the first activation; it never moves
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	-- Longer, the unique index below could not hold it. An event with such a customer is kept, but ignored.
	constraint "subscriptions_customer_length" check (char_length("subscriptions"."customer") between 1 and 255)
);
--> statement-breakpoint
create table "webhook_events" (
	"id" uuid primary key not null, -- UUIDv7, made on receipt: retention deletes from the low end of this index
	"provider" text collate "C" not null,
	"fingerprint" "bytea" not null, -- SHA-256 of the provider's id, or of the body when there is none: ids have no limit, indexes do
	"event_id" text collate "C", -- for people: cut, and without what text cannot hold
	"type" text collate "C",
	"customer" text collate "C",
	"status" text collate "C" not null,
	"attempts" integer default 0 not null,
	"replays" integer default 0 not null, -- a job made before the last replay sees a lower number and ends
	"last_error" text collate "C",
	"failures" jsonb default '[]'::jsonb not null,
	"body" "bytea" not null, -- the bytes that were signed; jsonb would refuse \u0000 and reorder members
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	"processed_at" timestamp (3) with time zone,
	constraint "webhook_events_status_known" check ("webhook_events"."status" in ('received', 'processing', 'processed', 'ignored', 'failed', 'dead'))
);
--> statement-breakpoint
-- One customer of one provider has one subscription, however many events say so at once.
create unique index "subscriptions_customer_provider_key" on "subscriptions" using btree ("customer","provider");
--> statement-breakpoint
create index "subscriptions_status_index" on "subscriptions" using btree ("status","id");
--> statement-breakpoint
-- The same event may be sent again at any time: it meets this index and is not stored twice.
create unique index "webhook_events_fingerprint_key" on "webhook_events" using btree ("provider","fingerprint");
--> statement-breakpoint
-- The filters of the operator. None for the provider: nearly all rows have the same.
create index "webhook_events_status_index" on "webhook_events" using btree ("status","id");
--> statement-breakpoint
create index "webhook_events_type_index" on "webhook_events" using btree ("type","id");
--> statement-breakpoint
create index "webhook_events_customer_index" on "webhook_events" using btree ("customer","id");
