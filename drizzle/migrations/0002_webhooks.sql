-- Subscriptions, the inbox of webhook events, and the queue of their processing. The tables are new, so nothing below waits
-- for a lock.

create table "subscriptions" (
	"id" uuid primary key not null,
	"customer" text collate "C" not null,
	"provider" text collate "C" not null,
	"status" text collate "C" not null, -- the best of the items that count
	"activated_at" timestamp (3) with time zone, -- the first activation; never changes
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	"items" jsonb default '[]'::jsonb not null, -- each subscription of the customer, at most 100
	"version" integer default 1 not null,
	-- The unique index below cannot hold longer values. An event with a longer customer is stored, but ignored.
	constraint "subscriptions_customer_length" check (char_length("subscriptions"."customer") between 1 and 255)
);
create table "webhook_events" (
	"id" uuid primary key not null, -- UUIDv7, made on receipt: trimming deletes from the low end of this index
	"provider" text collate "C" not null,
	"preset" text collate "C" not null, -- the provider whose format it has; workers know no providers
	"fingerprint" "bytea" not null, -- SHA-256 of the provider's id, or of the body without one: ids have no length limit, indexes do
	"event_id" text collate "C", -- for display: truncated, and without characters that text cannot hold
	"type" text collate "C",
	"customer" text collate "C",
	"status" text collate "C" not null,
	"reason" text collate "C", -- why it had no effect
	"deliveries" integer default 1 not null,
	"attempts" integer default 0 not null, -- since the last replay
	"replays" integer default 0 not null,
	"last_error" text collate "C",
	"failures" jsonb default '[]'::jsonb not null,
	"body" "bytea" not null, -- the signed bytes; jsonb would refuse \u0000 and reorder members
	"traceparent" text collate "C", -- the trace of the delivery, of which the processing is a part
	"occurred_at" timestamp (3) with time zone, -- by the clock of the provider
	"created_at" timestamp (3) with time zone not null,
	"updated_at" timestamp (3) with time zone not null,
	"processed_at" timestamp (3) with time zone,
	constraint "webhook_events_status_known" check ("webhook_events"."status" in ('received', 'processed', 'ignored', 'failed', 'dead', 'dismissed'))
);
-- The events that are still to be processed, and the effects that are still to run.
create table "webhook_queue" (
	-- These two columns identify the event.
	"fingerprint" "bytea" not null,
	"provider" text collate "C" not null,
	"customer" text collate "C", -- a worker leaves the events of a customer whom another worker serves
	"due_at" timestamp (3) with time zone default date_trunc('milliseconds', now()) not null, -- by the clock of the database; the column would round up
	"alone" boolean default false not null, -- set after a batch with the event failed, or ended with its process
	"effect" text collate "C", -- the name of the change, such as user.create; of an effect only, as are the next two
	"record" text collate "C", -- effects of a record run one after the other ...
	"version" integer, -- ... in this order
	constraint "webhook_queue_primary_key" primary key ("fingerprint", "provider")
);
-- The events that a worker is about to process together, or the effect that it runs. The row is deleted in the transaction
-- that ends them: a row that is left tells what a process worked on when it died.
create table "webhook_batches" (
	"id" uuid primary key not null,
	"fingerprints" "bytea"[] not null,
	"providers" text[] not null,
	"begun_at" timestamp (3) with time zone default now() not null,
	"record" text collate "C", -- of an effect only
	"leased_until" timestamp (3) with time zone -- of an effect: its worker is alive until then; null in an embedded database
);
-- A record has one effect at a time, whoever runs it.
create unique index "webhook_batches_record_key" on "webhook_batches" using btree ("record");
-- A customer of a provider has one record, however many events arrive at once.
create unique index "subscriptions_customer_provider_key" on "subscriptions" using btree ("customer","provider");
create index "subscriptions_status_index" on "subscriptions" using btree ("status","id");
-- A provider may send an event again at any time; this index prevents a second copy. The fingerprint is first, so that the
-- id of an event is enough to find it.
create unique index "webhook_events_fingerprint_key" on "webhook_events" using btree ("fingerprint","provider");
-- Indexes for the filters of operators. The provider has none, because nearly all rows have the same one.
create index "webhook_events_status_index" on "webhook_events" using btree ("status","id");
create index "webhook_events_type_index" on "webhook_events" using btree ("type","id");
create index "webhook_events_customer_index" on "webhook_events" using btree ("customer","id");
create index "webhook_queue_due_index" on "webhook_queue" using btree ("alone","due_at") where "webhook_queue"."effect" is null;
create index "webhook_queue_effect_index" on "webhook_queue" using btree ("due_at") where "webhook_queue"."effect" is not null;
create index "webhook_queue_record_index" on "webhook_queue" using btree ("record","version") where "webhook_queue"."effect" is not null;
