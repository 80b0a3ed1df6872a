-- Subscriptions that end, events in the formats of more providers, and repeated deliveries.
--
-- The defaults are also for servers of the release before, which write during a rollout.

create table "webhook_repeats" (
	"event" uuid primary key not null,
	"repeats" integer not null,
	-- Counts go with their events.
	constraint "webhook_repeats_event_webhook_events_id_fk" foreign key ("event") references "public"."webhook_events" ("id") on delete cascade
);
--> statement-breakpoint
-- When the event happened that set the status: an older one that comes later must not undo it. Null from before: updated_at.
alter table "subscriptions" add column "status_at" timestamp (3) with time zone;
--> statement-breakpoint
alter table "webhook_events"
	add column "preset" text collate "C" default 'stripe' not null, -- the provider whose format it has; workers know no providers
	add column "occurred_at" timestamp (3) with time zone, -- by the clock of the provider
	add column "reason" text collate "C"; -- why it had no effect
--> statement-breakpoint
-- With the fingerprint first, an event is found by its id alone. Deliveries wait while the index is built.
drop index "webhook_events_fingerprint_key";
--> statement-breakpoint
create unique index "webhook_events_fingerprint_key" on "webhook_events" using btree ("fingerprint","provider");
